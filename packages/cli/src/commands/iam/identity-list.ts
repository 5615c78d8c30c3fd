import type { Identity, ListIdentitiesRequest } from '@berth/client/berth.ts'
import {
  identityKind,
  lastUse,
  PULL_TOKEN_ISSUER,
  relationshipTypes,
} from '@berth/workloads/identity-kinds.ts'
import { filterItems, toArray } from '../../invocation/async-iterables.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import type { ListRequest } from '../../invocation/list-command.ts'
import { readScope } from '../../invocation/resource-lookup.ts'
import { formatPerson, type ResourceNames } from '../../invocation/resource-names.ts'
import { parentUid } from '../../invocation/resource-uids.ts'
import { createdColumn, descriptionColumn, groupColumn, idColumn, loadGroups } from '../../output/columns.ts'
import type { Column, View } from '../../output/output.ts'

/** Lists identities, including pull tokens, with their types and roles. */

const expiryOf = ({ staticKeys }: Identity) => staticKeys?.expirationTime ?? ''

function issuerOf({ claimMatch, staticKeys, awsIdentity }: Identity): string {
  if (awsIdentity !== undefined) return awsIdentity.arn ?? awsIdentity.arnPattern ?? ''
  return claimMatch?.issuer ?? claimMatch?.issuerPattern ?? staticKeys?.issuer ?? ''
}

/** Returns the subject of the tokens that may assume an identity. */
function subjectOf({ claimMatch, staticKeys, awsIdentity }: Identity): string {
  if (awsIdentity !== undefined) return awsIdentity.userId ?? awsIdentity.userIdPattern ?? ''
  return claimMatch?.subject ?? claimMatch?.subjectPattern ?? staticKeys?.subject ?? ''
}

function formatClaims({ claimMatch }: Identity): string {
  const { claims = {}, claimPatterns = {} } = claimMatch ?? {}
  return Object.entries({ ...claims, ...claimPatterns })
    .map(([name, value]) => `${name}:${value}`)
    .join(', ')
}

const identityColumns = (names: ResourceNames): readonly Column<Identity>[] => [
  { title: 'NAME', kind: 'name', value: formatPerson },
  idColumn,
  groupColumn(names),
  { title: 'TYPE', kind: 'name', value: identityKind },
  { title: 'ISSUER', value: issuerOf, wide: true },
  { title: 'SUBJECT', value: subjectOf, wide: true },
  {
    title: 'AUDIENCE',
    value: ({ claimMatch, staticKeys }) =>
      claimMatch?.audience ?? claimMatch?.audiencePattern ?? (staticKeys?.audiences ?? []).join(', '),
    wide: true,
  },
  { title: 'CLAIMS', value: formatClaims, wide: true },
  { title: 'EXPIRES', kind: 'time', value: expiryOf },
  { title: 'LAST SEEN', kind: 'time', value: (identity) => lastUse(identity) ?? 'never' },
  { ...descriptionColumn, wide: true },
  createdColumn,
]

export const identityView = (names: ResourceNames): View<Identity> => ({
  columns: identityColumns(names),
  empty: 'no identities visible to you',
  load: loadGroups(names),
})

/** Adds a column with the roles, as `my-org/team: viewer`, for tables and CSV. `titles`: only these columns. */
export async function viewWithRoles(
  invocation: Invocation,
  { titles, empty }: { readonly titles?: readonly string[]; readonly empty?: string } = {},
): Promise<View<Identity>> {
  const { names, output } = invocation
  const view = identityView(names)
  const showsColumns = output.isForPeople || output.format === 'csv'
  const roles = showsColumns ? await rolesOfIdentities(invocation) : new Map<string, string[]>()
  const shown = view.columns.filter(({ title }) => titles === undefined || titles.includes(title))
  const at = shown.findIndex(({ title }) => title === 'ISSUER' || title === 'EXPIRES')
  return {
    ...view,
    columns: shown.toSpliced(at, 0, {
      title: 'ROLES',
      value: ({ uid }) => (roles.get(uid) ?? []).join(', '),
    }),
    ...(empty !== undefined && { empty }),
  }
}

async function rolesOfIdentities(invocation: Invocation): Promise<ReadonlyMap<string, readonly string[]>> {
  const client = await invocation.client()
  const bindings = await toArray(client.roleBindings.all(await readScope(invocation)))
  await invocation.names.load({ groups: bindings.map(({ uid }) => parentUid(uid)) })
  const roles = new Map<string, string[]>()
  for (const { uid, identityUid, role, roleUid } of bindings)
    roles.set(identityUid, [
      ...(roles.get(identityUid) ?? []),
      `${invocation.names.groupPath(parentUid(uid))}: ${role?.name ?? roleUid}`,
    ])
  return roles
}

const isExpired = (identity: Identity) => {
  const until = expiryOf(identity)
  return until !== '' && Date.parse(until) <= Date.now()
}

export async function* listIdentities(
  invocation: Invocation,
  only: {
    readonly type: string
    readonly expired: boolean
    readonly name: string
    readonly namePrefix?: string
  },
  request: ListRequest & Pick<ListIdentitiesRequest, 'expiresAfter' | 'expiresBefore'> = {},
): AsyncGenerator<Identity> {
  const client = await invocation.client()
  const relationshipType = relationshipTypes[only.type]
  const all = client.identities.all({
    orderBy: 'name',
    ...request,
    ...(await readScope(invocation)),
    ...(only.name === '' ? {} : { name: only.name }),
    ...(only.namePrefix && { namePrefix: only.namePrefix }),
    ...(only.type === 'pull_token' && { issuer: PULL_TOKEN_ISSUER }),
    ...(relationshipType === undefined ? {} : { relationshipType }),
  })
  yield* filterItems(
    all,
    (identity) =>
      (only.type === '' || identityKind(identity) === only.type) && (!only.expired || isExpired(identity)),
  )
}
