import type { Reader, Tx } from '../storage/db.ts'
import { lockSetting, readSetting, writeSetting } from '../storage/settings.ts'
import type { Store } from '../storage/store.ts'
import { renameOrganization } from './groups.ts'

/** The first organization of an installation and its owner, which a setting names. */

export interface FirstOrganization {
  /** `name` is '' if it was deleted. */
  readonly organization: { readonly uid: string; readonly name: string }
  /** `name` is '' if it was deleted. */
  readonly identity: { readonly uid: string; readonly name: string }
}

/** The name of the setting, which every installation has after its first start. */
export const FIRST_ORGANIZATION = 'first_organization'

/** The name of the owner's identity while it has no account. */
export const OWNER_NAME = 'owner'

/** The value of the setting. `named`: the operator has chosen the name of the organization. */
interface FirstOrganizationSetting {
  readonly organization: string
  readonly identity: string
  readonly named: boolean
}

/** Reads the setting; undefined before the first start. */
export async function readFirstOrganization(db: Reader): Promise<FirstOrganizationSetting | undefined> {
  const text = await readSetting(db, FIRST_ORGANIZATION)
  return text === undefined ? undefined : (JSON.parse(text) as FirstOrganizationSetting)
}

export async function storeFirstOrganization(tx: Tx, first: FirstOrganizationSetting): Promise<void> {
  await writeSetting(tx, FIRST_ORGANIZATION, JSON.stringify(first))
}

/** Names the first organization; false if a name was chosen before. Fails on the name of another organization. */
export async function nameFirstOrganization(store: Store, tx: Tx, name: string): Promise<boolean> {
  const first = await readFirstOrganization(tx)
  if (first === undefined || first.named) return false
  await renameOrganization(store, tx, first.organization, name)
  await storeFirstOrganization(tx, { ...first, named: true })
  return true
}

/**
 * Reads the first organization and its owner, and whether the organization has its name. Locks the setting until the transaction ends, so
 * that one of several concurrent callers can claim the owner.
 */
export async function lockFirstOrganization(
  { db }: Pick<Store, 'db'>,
  tx: Tx,
): Promise<FirstOrganization & { readonly named: boolean }> {
  const text = await lockSetting(db, tx, FIRST_ORGANIZATION)
  if (text === undefined) throw new Error('there is no first organization')
  const first = JSON.parse(text) as FirstOrganizationSetting
  return { ...(await describeFirstOrganization(tx, first)), named: first.named }
}

export async function describeFirstOrganization(
  db: Reader,
  { organization, identity }: FirstOrganizationSetting,
): Promise<FirstOrganization> {
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
