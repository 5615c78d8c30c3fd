import { type SettingGroup, setting } from '../config/setting.ts'
import { parseDays } from '../config/setting-values.ts'

export interface AuditSettings {
  /** How long audit events are stored, in milliseconds; undefined: forever. */
  readonly auditRetentionMs: number | undefined
}

const FOREVER = 'forever'
const DEFAULT_DAYS = '400d'

const retention = setting('BERTH_AUDIT_RETENTION', {
  help: 'how many days audit events are stored, such as `90d`, or `forever`',
  default: `\`${DEFAULT_DAYS}\``,
  expected: 'a number of days such as 90d, or forever',
  parse: parseRetention,
  fallback: { ms: parseDays(DEFAULT_DAYS) },
})

export const auditSettings: SettingGroup<AuditSettings> = {
  settings: [retention],
  read: ({ read }) => ({ auditRetentionMs: read(retention).ms }),
}

function parseRetention(value: string): { readonly ms: number | undefined } | undefined {
  if (value === FOREVER) return { ms: undefined }
  const ms = parseDays(value)
  return ms === undefined ? undefined : { ms }
}
