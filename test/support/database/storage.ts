import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { type Db, openSqliteDb, type Sizes } from '@berth/server/storage/db.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import { engineDatabases } from './databases.ts'

/** One suite per database, on the bare tables: no server in front of them. */
export function onEveryEngine(title: string, suite: (db: () => Db) => void, sizes?: Sizes): void {
  for (const database of engineDatabases) {
    describe(`${title} (${database.name})`, () => {
      const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
      let db: Db | undefined
      before(async () => {
        const open = database.open ?? (() => openSqliteDb(join(dataDir, 'berth.db')))
        const opened = await open()
        db = sizes === undefined ? opened : { ...opened, sizes }
        await migrate(db)
      })
      after(async () => {
        await db?.close()
        rmSync(dataDir, { recursive: true, force: true })
      })
      suite(() => {
        if (db === undefined) throw new Error('the database is not open')
        return db
      })
    })
  }
}
