import { limits } from '../config/limits.ts'
import { type Setting, type SettingGroup, setting } from '../config/setting.ts'
import { parseBytes } from '../config/setting-values.ts'
import { parseDatabaseAddress } from './engines/postgres/address.ts'

export interface DatabaseSettings {
  /** PostgreSQL; undefined: SQLite in the data directory. */
  readonly databaseUrl: string | undefined
  /** A standby of that database for reads; undefined: the database serves them. */
  readonly databaseReadUrl: string | undefined
  /** Connections to PostgreSQL that requests and background work of a node share; undefined: `limits.databasePoolDefault`. */
  readonly databasePoolMax: number | undefined
  /** Bytes that blobs leave free on their disk; undefined: `diskReserveBytes` and `diskReservePercent` decide. */
  readonly diskReserveBytes: number | undefined
}

const databaseUrl: Setting<string | undefined> = {
  ...setting('BERTH_DATABASE_URL', {
    help: '`postgres://user:password@host/database`, or [several servers](#several-servers)',
    default: 'SQLite in the data directory',
    expected: 'the address of a PostgreSQL database',
    parse: (value: string) => value,
  }),
  parse(value, report) {
    const address = parseDatabaseAddress(value)
    if ('problem' in address) report(`BERTH_DATABASE_URL ${address.problem}`)
    return value
  },
}
const readUrl: Setting<string | undefined> = {
  ...setting('BERTH_DATABASE_READ_URL', {
    help: 'address of a standby of the database, for [large reads](#read-replicas)',
    expected: 'the address of a PostgreSQL database',
    parse: (value: string) => value,
  }),
  parse(value, report) {
    const address = parseDatabaseAddress(value, { isReplica: true })
    if (!('problem' in address)) return value
    report(`BERTH_DATABASE_READ_URL ${address.problem}`)
    return undefined
  },
}
const poolMax = setting('BERTH_DATABASE_POOL_MAX', {
  help: 'connections to PostgreSQL that a node opens for requests and background work, see [how many](#connections) (2-1000)',
  default: `\`${limits.databasePoolDefault}\``,
  expected: `a number from ${limits.databasePoolMin} to ${limits.databasePoolMax}`,
  parse: parsePoolMax,
})
const diskReserve = setting('BERTH_DISK_RESERVE', {
  help: 'free space that pushes leave on the disk of the images, such as `512MiB` or `2GiB`; `0`: none, see [full disks](#full-disks)',
  default: '256 MiB, or 5 % of a smaller disk',
  expected: 'a number of bytes such as 512MiB or 2GiB',
  parse: parseBytes,
})

export const databaseSettings: SettingGroup<DatabaseSettings> = {
  settings: [databaseUrl, readUrl, poolMax, diskReserve],
  read({ read, isSet, report }) {
    const databaseReadUrl = read(readUrl)
    if (databaseReadUrl !== undefined && !isSet(databaseUrl))
      report('BERTH_DATABASE_READ_URL needs BERTH_DATABASE_URL: a SQLite database has no replicas')
    return {
      databaseUrl: read(databaseUrl),
      databaseReadUrl,
      databasePoolMax: read(poolMax),
      diskReserveBytes: read(diskReserve),
    }
  },
}

function parsePoolMax(value: string): number | undefined {
  const max = /^\d{1,4}$/.test(value) ? Number(value) : 0
  return max >= limits.databasePoolMin && max <= limits.databasePoolMax ? max : undefined
}
