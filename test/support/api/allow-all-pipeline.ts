import type { Dispatch } from '@berth/server/pipeline/call.ts'
import type { AuthorizeHeaders } from '@berth/server/pipeline/methods.ts'

/** A pipeline that admits every call. */
export function allowAll(dispatch: Dispatch): AuthorizeHeaders {
  return (method, incoming) => (message) => dispatch(method, message, incoming)
}
