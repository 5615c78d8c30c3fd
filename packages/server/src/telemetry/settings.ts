import { isAbsolute } from 'node:path'
import { booleanSetting, listSetting, type Setting, type SettingGroup, setting } from '../config/setting.ts'
import { oneOf, parseExactOrigin } from '../config/setting-values.ts'
import type { AccessLogSettings } from './access-log.ts'
import { readTracingSettings, type TracingSettings, tracingVariables } from './tracing-settings.ts'

export interface TelemetrySettings {
  readonly logLevel: LogLevel
  /** Undefined: there is none. */
  readonly accessLog: AccessLogSettings | undefined
  /** Undefined: nothing is traced. */
  readonly tracing: TracingSettings | undefined
  /** Origins besides the bucket's that outbound requests send trace headers to. */
  readonly traceOrigins: readonly string[]
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

const logLevel = setting<LogLevel>('BERTH_LOG_LEVEL', {
  help: `one of ${logLevels.map((level) => `\`${level}\``).join(', ')}`,
  default: '`info`',
  expected: `one of ${logLevels.join(', ')}`,
  parse: oneOf(logLevels),
  fallback: 'info',
  reloads: true,
})
const accessLogTarget = setting<AccessLogSettings['target'] | 0>('BERTH_ACCESS_LOG', {
  help: '`off`, `stdout`, `stderr`, or the absolute path of a file: an [access log](tracing-and-access-log.md#access-log), one JSON line per request',
  default: '`off`',
  expected: 'off, stdout, stderr, or the absolute path of a file',
  parse: parseAccessLog,
  fallback: 0,
})
const accessLogProbes = booleanSetting('BERTH_ACCESS_LOG_PROBES', {
  help: '`true`: requests for health and metrics are in the access log, too',
  fallback: false,
})
const traceOrigins = listSetting('BERTH_TRACE_ORIGINS', {
  help: 'origins, separated by commas, that outbound requests send trace headers to, besides `BERTH_BLOBS_S3_ENDPOINT`',
  expected: 'an origin such as https://login.example.com',
  parse: parseExactOrigin,
})
/** Their values are read together, by `readTracingSettings`. */
const tracing: readonly Setting<unknown>[] = Object.entries(tracingVariables).map(([name, text]) => {
  const [, help = text, defaultText] = /^(.*) \(default:? ([^()]*)\)$/.exec(text) ?? []
  const declared = { help, expected: 'valid', parse: (value: string) => value }
  return setting(name, defaultText === undefined ? declared : { ...declared, default: defaultText })
})

export const telemetrySettings: SettingGroup<TelemetrySettings> = {
  settings: [logLevel, accessLogTarget, accessLogProbes, traceOrigins, ...tracing],
  read({ read, report, env }) {
    const target = read(accessLogTarget)
    return {
      logLevel: read(logLevel),
      accessLog: target === 0 ? undefined : { target, probes: read(accessLogProbes) },
      tracing: readTracingSettings(env, report),
      traceOrigins: read(traceOrigins),
    }
  },
}

function parseAccessLog(value: string): AccessLogSettings['target'] | 0 | undefined {
  const known = { off: 0, stdout: 1, stderr: 2 } as const
  if (Object.hasOwn(known, value)) return known[value as keyof typeof known]
  return isAbsolute(value) ? value : undefined
}
