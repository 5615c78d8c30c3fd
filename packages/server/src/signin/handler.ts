import type { HttpHandler } from '../port/http.ts'
import type { SignInContext } from './context.ts'

/** The sign-in: pages and forms for users, and OAuth endpoints for clients, under the address of the token service. */

/** Whether `signInHandler` serves a path. */
export function isSignInPath(path: string): boolean {
  return /^\/(sign-in|sign-out|setup|account|oauth|device|invite|orgcheck|console|console-assets)(\/|$)/.test(
    path,
  )
}

export type SignInOptions = Omit<SignInContext, 'requestMetadataOf'>

/** Loads the application with the first request. */
export function signInHandler(options: SignInOptions): HttpHandler {
  let pages: Promise<HttpHandler> | undefined
  return async (request) => {
    pages ??= import('./app.ts').then(({ createSignInHandler }) => createSignInHandler(options))
    return (await pages)(request)
  }
}
