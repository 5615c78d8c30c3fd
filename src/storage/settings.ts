import type { Reader } from './db.ts'

/** Facts about the installation as a whole, by name. */

export async function readSetting(db: Reader, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

/** Whether the value was written; with `onlyIfAbsent`, false when somebody wrote one before. */
export async function writeSetting(
  db: Reader,
  name: string,
  value: string,
  { onlyIfAbsent = false }: { readonly onlyIfAbsent?: boolean } = {},
): Promise<boolean> {
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
