import type { Dispatch } from '../../src/core/call.ts'
import type { AuthorizeHeaders } from '../../src/gateway/dispatch.ts'

/** A pipeline that admits every call. */
export function allowAll(dispatch: Dispatch): AuthorizeHeaders {
  return (method, incoming) => (message) => dispatch(method, message, incoming)
}
