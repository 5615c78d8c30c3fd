import { GroupSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { RelationshipType } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { create } from '@bufbuild/protobuf'
import { checkName } from '../api/fields.ts'
import { SetupError, UsageError } from '../config/setup-errors.ts'
import { createOrganization, renameOrganization } from '../iam/groups.ts'
import { managedRoleByName } from '../iam/managed-roles.ts'
import { createOnce, type Installation } from '../installation/installation.ts'
import { recordEvent } from '../storage/changes/audit-events.ts'
import { inTransaction, type Reader, type Tx } from '../storage/db.ts'
import { insertResource } from '../storage/resource-rows.ts'
import { readSetting, writeSetting } from '../storage/settings.ts'
import type { Store } from '../storage/store.ts'

/**
 * The first organization and its owner, who also administers the platform. Anyone who can read the data directory or the database
 * has full access: there is no password.
 */

export interface BootstrapResult {
  readonly organization: { readonly uid: string; readonly name: string }
  readonly identity: { readonly uid: string; readonly name: string }
}

/** The setting that names it, which every installation has after its first start. */
export const FIRST_ORGANIZATION = 'first_organization'
const DEFAULT_NAME = 'default'
const OWNER_NAME = 'owner'

/** The value of the setting. `named`: the operator has chosen or accepted the name. */
interface FirstOrganizationSetting {
  readonly organization: string
  readonly identity: string
  readonly named: boolean
}

/** Creates the first organization and its owner if they do not exist: on the first start. */
export async function ensureFirstOrganization({
  store,
}: Pick<Installation, 'store'>): Promise<BootstrapResult> {
  return createOnce(store.db, () => findOrCreate(store))
}

/** Returns whether the first organization is still missing. */
export async function isFirstStart({ store }: Pick<Installation, 'store'>): Promise<boolean> {
  return (await readFirstOrganization(store.db.kysely)) === undefined
}

function findOrCreate(store: Store): Promise<BootstrapResult> {
  return inTransaction(store.db, async (tx) => {
    const known = await readFirstOrganization(tx)
    if (known !== undefined) return describe(tx, known)
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
    const first: FirstOrganizationSetting = { organization, identity, named: false }
    // Two nodes may start concurrently on an empty database: the name of the organization lets only one of them get here.
    await writeSetting(tx, FIRST_ORGANIZATION, JSON.stringify(first))
    await recordBootstrap(store, tx, organization)
    return describe(tx, first)
  })
}

/**
 * `berth admin bootstrap`: the same, and names the organization if it has no chosen name. Throws a SetupError when the name is
 * invalid or taken, when another one was chosen before, or when the organization was deleted.
 */
export async function bootstrap(
  installation: Pick<Installation, 'store'>,
  name: string | undefined,
): Promise<BootstrapResult> {
  const first = await ensureFirstOrganization(installation)
  if (first.organization.name === '')
    throw new SetupError('the first organization was deleted; make another one through the API')
  if (name === undefined || name === first.organization.name) return first
  const problem = checkName(name)
  if (problem !== undefined) throw new UsageError(`--name: ${problem.description}`)
  const { store } = installation
  return inTransaction(store.db, async (tx) => {
    if (!(await nameFirstOrganization(store, tx, name))) {
      throw new SetupError(
        `the organization is named ${first.organization.name} already; rename it through the API`,
      )
    }
    const known = await readFirstOrganization(tx)
    if (known === undefined) throw new Error('the first organization is gone')
    await recordBootstrap(store, tx, known.organization)
    return describe(tx, known)
  })
}

/** Names the first organization; false when a name was chosen before. Fails on the name of another organization. */
export async function nameFirstOrganization(store: Store, tx: Tx, name: string): Promise<boolean> {
  const known = await readFirstOrganization(tx)
  if (known === undefined || known.named) return false
  await renameOrganization(store, tx, known.organization, name)
  await writeSetting(
    tx,
    FIRST_ORGANIZATION,
    JSON.stringify({ ...known, named: true } satisfies FirstOrganizationSetting),
  )
  return true
}

/**
 * Returns the first organization and its owner, and whether the organization may still be named. Locks them for the transaction: of
 * concurrent attempts to name the organization, one succeeds.
 */
export async function lockFirstOrganization(
  { db }: Pick<Store, 'db'>,
  tx: Tx,
): Promise<BootstrapResult & { readonly named: boolean }> {
  const query = tx.selectFrom('settings').select('value').where('name', '=', FIRST_ORGANIZATION)
  const row = await (db.engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst()
  if (row === undefined) throw new Error('there is no first organization')
  const known = JSON.parse(row.value) as FirstOrganizationSetting
  return { ...(await describe(tx, known)), named: known.named }
}

async function readFirstOrganization(db: Reader): Promise<FirstOrganizationSetting | undefined> {
  const text = await readSetting(db, FIRST_ORGANIZATION)
  return text === undefined ? undefined : (JSON.parse(text) as FirstOrganizationSetting)
}

async function describe(
  db: Reader,
  { organization, identity }: FirstOrganizationSetting,
): Promise<BootstrapResult> {
  const nameOf = async (table: 'groups' | 'identities', uid: string) =>
    (
      await db
        .selectFrom(table)
        .select('name')
        .where('root', '=', uid)
        .where('uid', '=', uid)
        .executeTakeFirst()
    )?.name ?? ''
  return {
    organization: { uid: organization, name: await nameOf('groups', organization) },
    identity: { uid: identity, name: await nameOf('identities', identity) },
  }
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
