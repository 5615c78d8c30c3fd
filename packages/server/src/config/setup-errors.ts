/** Errors that end a start or a command of the operator, each with its own exit code. */

/** A mistake that the operator can correct; the message says how. */
export class SetupError extends Error {
  override readonly name: string = 'SetupError'
}

/** An invalid argument or option on the command line. */
export class UsageError extends SetupError {
  override readonly name = 'UsageError'
}

/** The database server or the bucket does not respond. */
export class UnreachableError extends SetupError {
  override readonly name = 'UnreachableError'
}

/** A worker cannot join its server, which must be started again. */
export class RestartRequiredError extends SetupError {
  override readonly name = 'RestartRequiredError'
}

/** The database was migrated by a newer version. */
export class NewerDatabaseError extends SetupError {
  override readonly name = 'NewerDatabaseError'
}
