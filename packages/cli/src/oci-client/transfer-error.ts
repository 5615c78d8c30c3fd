/** What went wrong with a registry or a layout, in words for the person who named it. */

export type TransferProblem =
  /** Nobody answers, or the connection breaks again and again. */
  | 'unreachable'
  /** Who asks is not known there, or may not do it. */
  | 'denied'
  | 'missing'
  /** The other side says no for another reason. */
  | 'refused'
  /** Bytes that are not those that were promised. */
  | 'corrupt'
  /** What was asked of us would give credentials to somebody else. */
  | 'unsafe'

export class TransferError extends Error {
  override readonly name = 'TransferError'
  readonly problem: TransferProblem
  /** The host or directory that it is about. */
  readonly location: string

  constructor(problem: TransferProblem, location: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.problem = problem
    this.location = location
  }
}

export function isMissingError(error: unknown): boolean {
  return error instanceof TransferError && error.problem === 'missing'
}
