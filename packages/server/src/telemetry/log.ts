import { pino } from 'pino'
import type { LogLevel } from '../config/config.ts'

/** The subset of a pino logger that the server uses. */
export interface Log {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
  info(fields: object, message: string): void
  debug(fields: object, message: string): void
}

/** A log whose level can change. */
export interface AdjustableLog extends Log {
  level: string
}

/** JSON lines on standard error; standard output is for what the operator asked for. Tokens and secrets are never logged. */
export function createLog(level: LogLevel): AdjustableLog {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // A last resort: nothing that carries a token is passed to the log in the first place.
      redact: ['authorization', '*.authorization', 'token', '*.token'],
    },
    pino.destination({ fd: 2, sync: true }),
  )
}
