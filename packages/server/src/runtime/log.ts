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
