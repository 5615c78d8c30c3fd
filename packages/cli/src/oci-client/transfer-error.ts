/** An error of a registry or a layout, with a message for users. */

export type TransferProblem =
  /** No response, or the connection breaks repeatedly. */
  | 'unreachable'
  /** The caller is unknown, or lacks permission. */
  | 'denied'
  | 'missing'
  /** The other side rejects the request for another reason. */
  | 'refused'
  /** The bytes do not match their digest. */
  | 'corrupt'
  /** The request would disclose credentials to another host. */
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
