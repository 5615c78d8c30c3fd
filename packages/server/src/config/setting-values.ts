import { parseDurationSeconds } from '@berth/contract/durations.ts'
import { DAY_MS } from './limits.ts'

/** Parsers of values that several rooms use in settings. Each returns undefined for an invalid text. */

/** An address to listen on. `port`: 0 selects a free port. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export const listenExpected = 'an address and a port, such as 127.0.0.1:8080 or [::1]:8080'

export function parseListen(value: string): ListenAddress | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(value)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host === undefined || port > 65535 ? undefined : { host, port }
}

export const originExpected = 'an http or https address without path'

/** Returns scheme, host and port. */
export function parseOrigin(value: string): string | undefined {
  if (!URL.canParse(value)) return undefined
  const url = new URL(value)
  const bare =
    url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  return bare && (url.protocol === 'http:' || url.protocol === 'https:') ? url.origin : undefined
}

/** An origin in the form that browsers send. */
export function parseExactOrigin(value: string): string | undefined {
  return parseOrigin(value) === value ? value : undefined
}

export function parseHost(value: string): string | undefined {
  return /^[a-z0-9.-]+(:[0-9]+)?$|^\[[0-9a-f:]+\](:[0-9]+)?$/i.test(value) ? value.toLowerCase() : undefined
}

export const daysExpected = 'a number of days such as 30d'

/** Returns milliseconds. */
export function parseDays(value: string): number | undefined {
  const [, days] = /^([1-9][0-9]{0,4})d$/.exec(value) ?? []
  return days === undefined ? undefined : Number(days) * DAY_MS
}

export const stopDurationExpected = 'a duration such as 10s, of at most 1h'

/** Returns milliseconds. */
export function parseStopDuration(value: string): number | undefined {
  const seconds = parseDurationSeconds(value)
  return seconds === undefined || seconds > 3600 ? undefined : seconds * 1000
}

const byteUnits = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 } as const

export function parseBytes(value: string): number | undefined {
  const [, number, unit = ''] = /^([0-9]{1,12})(KiB|MiB|GiB|TiB)?$/.exec(value) ?? []
  return number === undefined ? undefined : Number(number) * byteUnits[unit as keyof typeof byteUnits]
}

/** Returns a parser of one of `values`. */
export function oneOf<T extends string>(values: readonly T[]): (value: string) => T | undefined {
  return (value) => values.find((one) => one === value)
}
