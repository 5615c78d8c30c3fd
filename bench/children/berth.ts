import { open } from 'node:fs/promises'
import { startBerth } from '@berth/server/main.ts'
import { issueClientTokens } from '@berth/server/tokens/sessions/client-session.ts'
import Database from 'better-sqlite3'
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
    /** Refresh tokens of so many sessions of the identity. */
    refreshTokens: (count: number) =>
      Promise.all(Array.from({ length: count }, async () => (await newClient()).refreshToken ?? '')),
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
