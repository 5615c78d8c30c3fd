import { type SettingGroup, setting } from '../../config/setting.ts'
import { oneOf } from '../../config/setting-values.ts'
import { type LimitTable, limitSyntax, parseLimitTable } from './limit-table.ts'

const rateLimitStores = ['memory', 'database'] as const
export type RateLimitStore = (typeof rateLimitStores)[number]

export interface RateLimitSettings {
  /** Calls that an identity, or an address, may make; empty: no limit. */
  readonly rateLimits: Readonly<Record<'identity' | 'address', LimitTable>>
  /** Undefined: `memory` for a single process, `database` with workers. */
  readonly rateLimitStore: RateLimitStore | undefined
}

const unlimited: LimitTable = {}
const table = {
  default: 'no limit',
  expected: limitSyntax,
  parse: parseLimitTable,
  fallback: unlimited,
  reloads: true,
}
const identity = setting('BERTH_RATE_LIMITS', {
  help: 'calls that one identity may make, such as `read=100/1s,write=20/1s`',
  ...table,
})
const address = setting('BERTH_RATE_LIMITS_ADDRESS', {
  help: 'calls that one IP address may make, in the same form',
  ...table,
})
const store = setting<RateLimitStore>('BERTH_RATE_LIMIT_STORE', {
  help: '`memory`: each process counts by itself; `database`: all nodes and workers count together',
  default: '`memory`, with [workers](#workers) `database`',
  expected: `one of ${rateLimitStores.join(', ')}`,
  parse: oneOf(rateLimitStores),
})

export const rateLimitSettings: SettingGroup<RateLimitSettings> = {
  settings: [identity, address, store],
  read: ({ read }) => ({
    rateLimits: { identity: read(identity), address: read(address) },
    rateLimitStore: read(store),
  }),
}
