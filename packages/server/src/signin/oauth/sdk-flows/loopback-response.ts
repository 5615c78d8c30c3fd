import { withQueryParameters } from '../redirect-uri.ts'

/**
 * The answer to a client of the public SDK: its address, with the places that it left for a token and for an error filled in or
 * taken away.
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

/** `status`: an HTTP status; 404 says that the account is not known. */
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
