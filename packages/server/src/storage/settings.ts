import { type Db, lockForUpdate, type Reader, type Tx } from './db.ts'

/** Values that belong to the installation as a whole, by name. */

export async function readSetting(db: Reader, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

/** Reads a setting and locks it until the transaction ends. */
export async function lockSetting(db: Db, tx: Tx, name: string): Promise<string | undefined> {
  const query = tx.selectFrom('settings').select('value').where('name', '=', name)
  return (await lockForUpdate(db, query).executeTakeFirst())?.value
}

/** Stores a value. Returns whether it is stored now: with `onlyIfAbsent`, false if a value existed. */
export async function writeSetting(
  db: Reader,
  name: string,
  value: string,
  { onlyIfAbsent = false }: { readonly onlyIfAbsent?: boolean } = {},
): Promise<boolean> {
  // On a full disk a node must start without writes of unchanged values.
  if (!onlyIfAbsent && (await readSetting(db, name)) === value) return true
  const result = await db
    .insertInto('settings')
    .values({ name, value })
    .onConflict((conflict) => {
      const taken = conflict.column('name')
      return onlyIfAbsent ? taken.doNothing() : taken.doUpdateSet({ value })
    })
    .executeTakeFirst()
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n
}
