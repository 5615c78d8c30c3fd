/** Status codes of HTTP that pages treat differently from other failures (RFC 9110). */
export const UNAUTHENTICATED = 401
export const FORBIDDEN = 403
export const NOT_FOUND = 404
export const PRECONDITION_FAILED = 412
