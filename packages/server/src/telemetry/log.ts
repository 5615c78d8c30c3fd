import { pino } from 'pino'
import type { AdjustableLog } from '../runtime/log.ts'
import type { LogLevel } from './settings.ts'

/**
 * JSON lines on standard error; standard output is for what the operator asked for. Tokens and secrets are never logged. `fields` are in
 * every line.
 */
export function createLog(level: LogLevel, fields: object | null = null): AdjustableLog {
  return pino(
    {
      level,
      base: fields,
      timestamp: pino.stdTimeFunctions.isoTime,
      // A last resort: nothing that carries a token is passed to the log in the first place.
      redact: ['authorization', '*.authorization', 'token', '*.token'],
    },
    pino.destination({ fd: 2, sync: true }),
  )
}
