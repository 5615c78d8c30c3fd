import { open } from 'node:fs/promises'
import { limits } from '@berth/server/config/limits.ts'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import { configurationOf, log, type Place } from '../configuration.ts'
import { CALLER } from '../dataset.ts'
import { serveParent } from './control.ts'

/** A Berth on a data set, answering on a free port. */

export interface BerthReady {
  readonly port: number
  readonly url: string
  /** A token of the identity that owns the data set's organization. */
  readonly token: string
}

/** A statement that went to PostgreSQL. */
export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

const place = JSON.parse(process.argv[2] ?? '') as Place
Object.assign(limits, place.limits)
// Modules of the server read limits when they are loaded.
const { startBerth } = await import('@berth/server/main.ts')
const { issueClientTokens } = await import('@berth/server/tokens/sessions/client-session.ts')
if (place.unsynced === true) await neverSync(place.dataDir)
const berth = await startBerth(configurationOf(place), log)
const { addresses, installation } = berth
const { token } = await installation
  .tokensFor(addresses)
  .issue({ identity: CALLER, audiences: [addresses.baseUrl] })

const newClient = () =>
  issueClientTokens(
    {
      store: installation.store,
      tokens: installation.tokensFor(addresses),
      authUrl: addresses.authUrl,
    },
    { identity: CALLER, method: 'password', voucher: { kind: 'operator' }, groups: [] },
    {
      client: 'bench',
      audiences: [addresses.baseUrl],
      clientInfo: { address: '127.0.0.1', userAgent: '' },
    },
  )

const query = pg.Client.prototype.query
let recorded: Statement[] = []

serveParent(
  {
    port: Number(new URL(addresses.baseUrl).port),
    url: addresses.baseUrl,
    token,
  } satisfies BerthReady,
  {
    /** Remembers the statements that are sent to PostgreSQL from here on. */
    record() {
      recorded = []
      pg.Client.prototype.query = function (this: pg.Client, ...args: [Statement]) {
        const [{ text, values }] = args
        if (text !== undefined) recorded.push({ text, values })
        return Reflect.apply(query, this, args)
      } as typeof query
    },
    /** A token for each of these identities. */
    tokensOf: (identities: readonly string[]) =>
      Promise.all(
        identities.map(
          async (identity) =>
            (await installation.tokensFor(addresses).issue({ identity, audiences: [addresses.baseUrl] }))
              .token,
        ),
      ),
    /** Refresh tokens of so many sessions of the identity. */
    refreshTokens: (count: number) =>
      Promise.all(Array.from({ length: count }, async () => (await newClient()).refreshToken ?? '')),
    /** How many changes the history of findings waits for, without those of groups, which wait for ten minutes. */
    async historyChanges() {
      const { rows } = await sql<{
        n: number
      }>`select count(*) as n from finding_history_changes where kind <> 'group'`.execute(
        installation.store.db.kysely,
      )
      return Number(rows[0]?.n)
    },
    /** Packages and changes of advisories that are to be matched. */
    async unmatched() {
      const { rows } = await sql<{
        n: number
      }>`select (select count(*) from packages where matched_ms = 0) + (select count(*) from finding_changes) as n`.execute(
        installation.store.db.kysely,
      )
      return Number(rows[0]?.n)
    },
    /** As PostgreSQL does by itself within a minute of such changes; in the cluster of a run it does nothing by itself. */
    async analyze() {
      const { engine, kysely } = installation.store.db.background
      if (engine === 'postgres') await sql`analyze`.execute(kysely)
    },
    async changeAllAdvisories() {
      await sql`insert into finding_changes (root, subject, parent, revision) select distinct root, 'name ' || name, 'bench', 1 from advisory_packages`.execute(
        installation.store.db.kysely,
      )
    },
    async databaseMb() {
      const { engine, kysely } = installation.store.db
      const { rows } = await (engine === 'sqlite'
        ? sql<{ n: number }>`select page_count * page_size as n from pragma_page_count(), pragma_page_size()`
        : sql<{ n: number }>`select pg_database_size(current_database()) as n`
      ).execute(kysely)
      return Number(rows[0]?.n) / 1024 ** 2
    },
    /** Vulnerabilities of very many, many, some and few packages, with how many packages and images have them. */
    async spreadOfVulnerabilities() {
      const { kysely } = installation.store.db.background
      const { rows: all } = await sql<{
        vulnerability: string
        n: number
      }>`select vulnerability, count(*) as n from package_findings group by vulnerability order by n desc, vulnerability`.execute(
        kysely,
      )
      const chosen = [0, 0.01, 0.1, 0.5].map((share) => all[Math.floor(all.length * share)])
      return Promise.all(
        chosen.map(async (one) => {
          const vulnerability = one?.vulnerability ?? ''
          const { rows } = await sql<{
            n: number
          }>`select count(distinct l.contents) as n from package_findings f join manifest_packages l on l.root = f.root and l.package = f.package where f.vulnerability = ${vulnerability}`.execute(
            kysely,
          )
          return { vulnerability, packages: Number(one?.n), images: Number(rows[0]?.n) }
        }),
      )
    },
    recorded() {
      pg.Client.prototype.query = query
      return recorded
    },
  },
)

/** Files and the database are written, and the system is left to put them on the disk when it likes. */
async function neverSync(file: string): Promise<void> {
  const { pragma } = Database.prototype
  Database.prototype.pragma = function (this: Database.Database, text: string, ...rest) {
    return Reflect.apply(pragma, this, [text.replace(/^synchronous = \w+/, 'synchronous = OFF'), ...rest])
  }
  const handle = await open(file, 'r')
  const nothing = async () => {}
  Object.assign(Object.getPrototypeOf(handle), { sync: nothing, datasync: nothing })
  await handle.close()
}
