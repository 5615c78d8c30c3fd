import type { HttpHandler } from '../port/http.ts'
import type { SignInContext } from './context.ts'

/** Where people sign in: pages and forms, and the OAuth endpoints of clients, under the address of the token service. */

/** Which paths are `signInHandler`'s. */
export function isSignInPath(path: string): boolean {
  return /^\/(sign-in|sign-out|setup|account|oauth|device|invite|orgcheck)(\/|$)/.test(path)
}

export type SignInOptions = Omit<SignInContext, 'requestMetadataOf'>

/** Loads what it needs with the first request. */
export function signInHandler(options: SignInOptions): HttpHandler {
  let pages: Promise<HttpHandler> | undefined
  return async (request) => {
    pages ??= import('./app.ts').then(({ createSignInHandler: signInPages }) => signInPages(options))
    return (await pages)(request)
  }
}
