import { withQueryParameters } from '../redirect-uri.ts'

/**
 * The response to a client of the public SDK: its redirect URI, with the parameters for a token or an error set, and the others removed.
 */

export function loopbackTokenUrl(
  redirect: URL | string,
  { token, refreshToken }: { readonly token: string; readonly refreshToken: string | undefined },
): string {
  return withQueryParameters(redirect, {
    token,
    refresh_token: refreshToken,
    error: undefined,
    status_code: undefined,
  })
}

/** `status`: an HTTP status; 404 means an unknown account. */
export function loopbackErrorUrl(
  redirect: URL | string,
  { error, status }: { readonly error: string; readonly status: number },
): string {
  return withQueryParameters(redirect, {
    token: undefined,
    refresh_token: undefined,
    error,
    status_code: String(status),
  })
}
