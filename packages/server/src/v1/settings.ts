import { type SettingGroup, setting } from '../config/setting.ts'
import type { Deprecation } from './deprecation.ts'

export interface V1Settings {
  /** The announced end of version 1; undefined if none is announced. */
  readonly deprecation: Deprecation | undefined
}

const time = {
  expected: 'a day such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z',
  parse: parseTime,
}
const deprecatedAt = setting('BERTH_V1_DEPRECATED_AT', {
  help: 'when [version 1](migration.md) of the API becomes deprecated, which its responses say: a day such as `2027-01-31`, or a time',
  default: 'never',
  ...time,
})
const sunsetAt = setting('BERTH_V1_SUNSET_AT', {
  help: 'when version 1 may end, which its responses say; not before it is deprecated',
  ...time,
})
const migrationUrl = setting('BERTH_V1_MIGRATION_URL', {
  help: 'page that explains to callers of version 1 how to migrate',
  expected: 'an absolute http or https URL',
  parse: parseHttpUrl,
})

export const v1Settings: SettingGroup<V1Settings> = {
  settings: [deprecatedAt, sunsetAt, migrationUrl],
  read({ read, isSet, report }) {
    const atMs = read(deprecatedAt)
    const sunsetMs = read(sunsetAt)
    const url = read(migrationUrl)
    if (!isSet(deprecatedAt)) {
      for (const setting of [sunsetAt, migrationUrl])
        if (isSet(setting)) report(`${setting.name} needs ${deprecatedAt.name}`)
    } else if (atMs !== undefined && sunsetMs !== undefined && sunsetMs < atMs) {
      report(`${sunsetAt.name} must not be before ${deprecatedAt.name}`)
    }
    return { deprecation: atMs === undefined ? undefined : { atMs, sunsetMs, migrationUrl: url } }
  },
}

function parseTime(value: string): number | undefined {
  const isComplete = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d))?$/.test(value)
  const ms = isComplete ? Date.parse(value) : Number.NaN
  // Date normalizes a day that a month does not have to the next month.
  const date = value.slice(0, 10)
  const dayMs = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(ms) || Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(date)
    ? undefined
    : ms
}

/** In the form that a header can have. */
function parseHttpUrl(value: string): string | undefined {
  const url = URL.parse(value)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
    ? url.href
    : undefined
}
