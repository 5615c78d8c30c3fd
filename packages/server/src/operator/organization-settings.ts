import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import type { ResourceKind, ResourceLimits } from '../api/resource-limits.ts'
import { depthOf, parseUid } from '../api/uid.ts'
import { SetupError } from '../config/setup-errors.ts'
import { updateOrganization } from '../iam/groups/organization.ts'
import { createOnce, type Installation } from '../installation/installation.ts'
import { readUsage } from '../registry/quota/usage.ts'
import {
  hasDefaultLimits,
  readCounts,
  readLimits,
  setDefaultLimits,
} from '../storage/counts/resource-limits.ts'
import { type Db, inTransaction, type Reader, type Tx } from '../storage/db.ts'
import { findOrganizationByName } from '../storage/organizations.ts'
import { lockResource, readResource } from '../storage/resource-rows.ts'
import type { GroupRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { commandActor, type OperatorActor } from './actor.ts'

/** Settings of organizations for the operator, with access to the database and no token. */

const MIB = 1024 * 1024

const statuses = { ready: OrgStatus.READY, suspended: OrgStatus.SUSPENDED } as const
export type StatusName = keyof typeof statuses
export const statusNames = Object.keys(statuses) as StatusName[]

export interface OrganizationSettings {
  readonly uid: string
  readonly name: string
  readonly status: string
  /** Effective limits: the organization's own, otherwise those of the installation. */
  readonly resourceLimits: ResourceLimits
  /** Number of resources of each kind. */
  readonly usage: ResourceLimits
}

/**
 * The settings of an organization, by its uid or name, after these changes, if there are any. Throws a SetupError when there is no
 * such organization.
 */
export async function organizationSettings(
  { store }: Pick<Installation, 'store'>,
  uidOrName: string,
  changes: {
    readonly status?: StatusName | undefined
    /** undefined removes a limit. */
    readonly limits: ReadonlyMap<ResourceKind, number | undefined>
  },
  actor: OperatorActor = commandActor(store, 'berth admin organization'),
): Promise<OrganizationSettings> {
  return inTransaction(store.db, async (tx) => {
    const row = await lockOrganization(store, tx, uidOrName)
    if (changes.status === undefined && changes.limits.size === 0) return describe(store, tx, row)
    const status = changes.status === undefined ? undefined : statuses[changes.status]
    await updateOrganization(store, tx, row, { status, limits: changes.limits })
    await actor.record(tx, row.uid)
    return describe(store, tx, { ...row, status: status ?? row.status })
  })
}

/** Stores the configuration of a starting server as the effective one of all nodes. */
export async function applyGeneralLimits(
  { store: { db } }: Pick<Installation, 'store'>,
  limits: ResourceLimits,
): Promise<void> {
  if (await hasDefaultLimits(db.kysely, limits)) return
  // Nodes that start concurrently write the same.
  await createOnce(db, () => inTransaction(db, (tx) => setDefaultLimits(tx, limits)))
}

export class OrganizationNotFound extends SetupError {
  constructor(uidOrName: string) {
    super(`organization ${uidOrName} does not exist`)
  }
}

async function lockOrganization({ db }: Store, tx: Tx, uidOrName: string): Promise<GroupRow> {
  const uid = await findOrganization(tx, uidOrName)
  const row = uid === undefined ? undefined : await lockResource(db, tx, 'groups', uid, 'update')
  if (row === undefined) throw new OrganizationNotFound(uidOrName)
  return row
}

/** Returns the uid of an organization. Throws OrganizationNotFound if there is none with this uid or name. */
export async function requireOrganization(db: Db, uidOrName: string): Promise<string> {
  const uid = await findOrganization(db.kysely, uidOrName)
  if (uid === undefined || (await readResource(db, 'groups', uid)) === undefined)
    throw new OrganizationNotFound(uidOrName)
  return uid
}

/** A uid first: a name may look like one. */
async function findOrganization(reader: Reader, uidOrName: string): Promise<string | undefined> {
  const uid = parseUid(uidOrName) ?? (await findOrganizationByName(reader, uidOrName))
  return uid === undefined || depthOf(uid) > 0 ? undefined : uid
}

async function describe({ db }: Store, tx: Tx, row: GroupRow): Promise<OrganizationSettings> {
  const { uid, name, status } = row
  const limits = await readLimits(db, [uid], tx)
  const { manifests, bytes } = await readUsage(tx, uid)
  return {
    uid,
    name,
    status: (OrgStatus[status] ?? '').toLowerCase(),
    resourceLimits: limits.get(uid) ?? {},
    usage: {
      ...Object.fromEntries(await readCounts(tx, uid)),
      manifests,
      storage_mib: Math.ceil(bytes / MIB),
    },
  }
}
