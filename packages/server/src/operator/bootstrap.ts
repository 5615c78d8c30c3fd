import { GroupSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { RelationshipType } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { create } from '@bufbuild/protobuf'
import { checkName } from '../api/fields.ts'
import { SetupError, UsageError } from '../config/setup-errors.ts'
import {
  describeFirstOrganization,
  type FirstOrganization,
  nameFirstOrganization,
  OWNER_NAME,
  readFirstOrganization,
  storeFirstOrganization,
} from '../iam/first-organization.ts'
import { createOrganization } from '../iam/groups.ts'
import { managedRoleByName } from '../iam/managed-roles.ts'
import { createOnce, type Installation } from '../installation/installation.ts'
import { recordEvent } from '../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../storage/db.ts'
import { insertResource } from '../storage/resource-rows.ts'
import type { Store } from '../storage/store.ts'

/**
 * The first organization and its owner, who also administers the platform. Anyone who can read the data directory or the database
 * has full access: there is no password.
 */

const DEFAULT_NAME = 'default'

/** Creates the first organization and its owner if they do not exist: on the first start. */
export async function ensureFirstOrganization({
  store,
}: Pick<Installation, 'store'>): Promise<FirstOrganization> {
  return createOnce(store.db, () => findOrCreate(store))
}

/** Returns whether the first organization is still missing. */
export async function isFirstStart({ store }: Pick<Installation, 'store'>): Promise<boolean> {
  return (await readFirstOrganization(store.db.kysely)) === undefined
}

function findOrCreate(store: Store): Promise<FirstOrganization> {
  return inTransaction(store.db, async (tx) => {
    const known = await readFirstOrganization(tx)
    if (known !== undefined) return describeFirstOrganization(tx, known)
    const owner = managedRoleByName.get('owner')
    if (owner === undefined) throw new Error('there is no owner role')
    const identity = store.uids.root()
    const now = store.clock()
    await insertResource(store.db, tx, 'identities', {
      root: identity,
      uid: identity,
      parent: '',
      name: OWNER_NAME,
      description: 'Owner of the first organization and administrator of the platform',
      email: '',
      email_unverified: '',
      company: '',
      relationship: RelationshipType.UNSPECIFIED,
      relationship_data: new Uint8Array(0),
      issuer: '',
      subject: '',
      registered_through: '',
      keys_expire_ms: 0,
      last_seen_ms: now,
      created_ms: now,
      updated_ms: now,
    })
    await tx.insertInto('platform_bindings').values({ identity_uid: identity, role_uid: owner.uid }).execute()
    const group = create(GroupSchema, { name: DEFAULT_NAME })
    const { uid: organization } = await createOrganization(store, tx, group, {
      identity,
      acceptedThrough: '',
    })
    const first = { organization, identity, named: false }
    // Two nodes may start concurrently on an empty database: the name of the organization lets only one of them get here.
    await storeFirstOrganization(tx, first)
    await recordBootstrap(store, tx, organization)
    return describeFirstOrganization(tx, first)
  })
}

/**
 * `berth admin bootstrap`: the same, and names the organization if it has no chosen name. Throws a SetupError when the name is
 * invalid or taken, when another one was chosen before, or when the organization was deleted.
 */
export async function bootstrap(
  installation: Pick<Installation, 'store'>,
  name: string | undefined,
): Promise<FirstOrganization> {
  const first = await ensureFirstOrganization(installation)
  if (first.organization.name === '')
    throw new SetupError('the first organization was deleted; make another one through the API')
  if (name === undefined || name === first.organization.name) return first
  const problem = checkName(name)
  if (problem !== undefined) throw new UsageError(`--name: ${problem.description}`)
  const { store } = installation
  return inTransaction(store.db, async (tx) => {
    if (!(await nameFirstOrganization(store, tx, name))) {
      const { name: current } = first.organization
      throw new SetupError(
        `the first organization is already named ${current}. To print it, omit --name. To rename it: berth iam organizations update "${current}" --name "${name}". To create another one: berth iam organizations create "${name}"`,
      )
    }
    const known = await readFirstOrganization(tx)
    if (known === undefined) throw new Error('the first organization is gone')
    await recordBootstrap(store, tx, known.organization)
    return describeFirstOrganization(tx, known)
  })
}

function recordBootstrap({ clock }: Installation['store'], tx: Tx, uid: string): Promise<void> {
  return recordEvent(tx, {
    timeMs: clock(),
    actor: 'system',
    method: 'berth admin bootstrap',
    uid,
    requestId: '',
    address: '',
  })
}
