import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import {
  PublicBindingSchema,
  VisibilitySchema,
  VisibilityService,
} from '@berth/contract/gen/berth/registry/v1/visibility_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { create } from '@bufbuild/protobuf'
import { notFound } from '../../api/errors.ts'
import { parentOf, pathOf, rootOf, subtreeRange } from '../../api/uid.ts'
import { ANONYMOUS_IDENTITY } from '../../iam/identities/anonymous-uid.ts'
import { managedRoleByName, managedRoleByUid } from '../../iam/managed-roles.ts'
import { authorizationOf, requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { rangeCountSql } from '../../storage/counts/row-counts.ts'
import type { Db } from '../../storage/db.ts'
import { readResource } from '../../storage/resource-rows.ts'
import { readRowsByUid } from '../../storage/rows-by-uid.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { REPO_TYPE } from '../resources/parent-repo.ts'
import { readPublicScopes } from './public-scopes.ts'

/** Whether repos are public: what the anonymous identity may pull, and which bindings grant it. Bindings exist on groups only. */

const bindingsCapability = capabilitySetOf([Capability.CAP_IAM_ROLE_BINDINGS_LIST])
const groupsCapability = capabilitySetOf([Capability.CAP_IAM_GROUPS_LIST])
const rolesCapability = capabilitySetOf([Capability.CAP_IAM_ROLES_LIST])

export function visibilityService({ db }: Pick<Store, 'db'>) {
  return implement(VisibilityService, {
    async getVisibility(_request, call) {
      const { scope } = requireScope(call)
      const group = await findGroup(db, scope)
      const publicFrom = await readPublicScopes(db, [group])
      const bindings = await readPublicBindings(db, scope)
      const { grants } = authorizationOf(call)
      return create(VisibilitySchema, {
        public: publicFrom(group) !== undefined,
        bindings: bindings.map(({ uid, role, ...binding }) =>
          create(PublicBindingSchema, {
            ...binding,
            ...(includesAll(grants.at(binding.group), bindingsCapability) && { uid }),
            // Who can read a group may know the names of the groups above it (ADR 34).
            ...(!includesAll(grants.at(scope), groupsCapability) && { groupName: '' }),
            ...(!managedRoleByUid.has(role) &&
              !includesAll(grants.at(role), rolesCapability) && { roleName: '' }),
          }),
        ),
        anonymousIdentity: ANONYMOUS_IDENTITY,
        pullRole: managedRoleByName.get('registry.pull')?.uid ?? '',
        repos: await countRepos(db, group),
      })
    },
  })
}

/** Returns the group that a uid names, or that of the repo that it names. Throws code 5 if there is neither. */
async function findGroup(db: Db, uid: string): Promise<string> {
  if ((await readResource(db, 'groups', uid)) !== undefined) return uid
  if ((await readResource(db, 'repos', uid)) === undefined) throw notFound(REPO_TYPE, uid)
  return parentOf(uid)
}

/** Returns the bindings of the anonymous identity at a uid and above, the outermost first. */
async function readPublicBindings({ kysely }: Db, uid: string) {
  const rows = await kysely
    .selectFrom('role_bindings')
    .select(['uid', 'parent', 'role_uid'])
    .where('root', '=', rootOf(uid))
    .where('identity_uid', '=', ANONYMOUS_IDENTITY)
    .where('parent', 'in', pathOf(uid))
    .orderBy('parent')
    .orderBy('uid')
    .execute()
  const groups = await readRowsByUid(
    kysely,
    'groups',
    ['name'],
    rows.map(({ parent }) => parent),
  )
  const roles = await readRowsByUid(
    kysely,
    'roles',
    ['name'],
    rows.map(({ role_uid }) => role_uid),
  )
  return rows.map(({ uid, parent, role_uid }) => ({
    uid,
    role: role_uid,
    group: parent,
    groupName: groups.get(parent)?.name ?? '',
    roleName: managedRoleByUid.get(role_uid)?.name ?? roles.get(role_uid)?.name ?? '',
  }))
}

/** Counts the repos of a group and its descendants. */
async function countRepos(db: Db, group: string): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select ${rangeCountSql(sql, 'repos', subtreeRange(group))} as n`
  const [row] = await runText<{ n: number }>(db, text, sql)
  return Number(row?.n ?? 0)
}
