import { pendingStore } from '../../storage/pending-store.ts'
import type { Store } from '../../storage/store.ts'

/**
 * What a client requests from a user, stored while the user signs in. Every flow starts by storing a request and sending the browser to
 * `signInPath`. After authentication by any method the browser continues to `pathAfterSignIn`, where the flow asks for consent and responds
 * to the client.
 */
export interface AuthorizationRequest {
  /** id of the client: registered for codes and devices, otherwise the unverified name that it gives itself. */
  readonly client: string
  /** Hash of the secret that binds the request to the browser that started it (browser-binding.ts). */
  readonly browser: string
  /** uid of the organization's identity provider to sign in with; '' lets the user choose. */
  readonly identityProvider: string
  /** Name of the operator's provider to sign in with; '' lets the user choose. */
  readonly connection: string
  /** Rejects an unknown user instead of registering them. */
  readonly skipRegistration: boolean
  /** Code of an invite to accept after the sign-in; '' for none. */
  readonly invite: string
  /** Audiences of the token, and the scopes that narrow it. */
  readonly audiences: readonly string[]
  readonly scopes: readonly string[]
  /** uid of another identity to assume; '' for the user's own. */
  readonly identity: string
  readonly refreshToken: boolean
  /** Whether the client gets an ID token, with `nonce`; '' for none. */
  readonly idToken: boolean
  readonly nonce: string
  readonly reply: ResponseChannel
}

/** How the response reaches the client. */
export type ResponseChannel =
  /** Authorization code with PKCE (RFC 6749, RFC 7636, RFC 8252). */
  | { readonly kind: 'code'; readonly redirect: string; readonly state: string; readonly challenge: string }
  /** The public SDK's browser flow: the token in the query of a loopback address. */
  | { readonly kind: 'loopback'; readonly redirect: string }
  /** The public SDK's headless flow: encrypted to the client's X25519 key. */
  | { readonly kind: 'headless'; readonly code: string }
  /** Device authorization grant (RFC 8628). */
  | { readonly kind: 'device'; readonly userCode: string }
  /** No client waits: an invite that is accepted in the browser. */
  | { readonly kind: 'none' }

/** Defaults of a request. */
export const authorizationRequestDefaults = {
  client: '',
  identityProvider: '',
  connection: '',
  skipRegistration: false,
  invite: '',
  audiences: [],
  scopes: [],
  identity: '',
  refreshToken: false,
  idToken: false,
  nonce: '',
} as const satisfies Omit<AuthorizationRequest, 'browser' | 'reply'>

/** Time from the start of a flow to the consent. */
export const AUTHORIZATION_REQUEST_MS = 15 * 60 * 1000

/** Pending requests, by the secret that is `?request=` in the pages of the sign-in. */
export function authorizationRequests(store: Pick<Store, 'db' | 'clock' | 'secretsKey'>) {
  return pendingStore<AuthorizationRequest>(store, 'authorization', AUTHORIZATION_REQUEST_MS)
}

export function signInPath(request: string): string {
  return `/sign-in?request=${encodeURIComponent(request)}`
}

/**
 * Where a browser continues after a sign-in. `waiting` is the secret of a request, the path of a page that the browser came from, or ''
 * if nothing waits.
 */
export function pathAfterSignIn(waiting: string): string {
  if (waiting === '') return '/'
  return isConsolePath(waiting) ? waiting : `/oauth/continue?request=${encodeURIComponent(waiting)}`
}

const CONSOLE_PATH = /^\/console(?:[/?][A-Za-z0-9._~%!$'()*+,;=:@/?&-]*)?$/
const CONSOLE_PATH_CHARS_MAX = 2000

/**
 * Whether `waiting` is the path of a page of the console. Anyone can write one into a link: it proves nothing about the browser, unlike a
 * secret. Never a path of another host.
 */
export function isConsolePath(waiting: string): boolean {
  return waiting.length <= CONSOLE_PATH_CHARS_MAX && CONSOLE_PATH.test(waiting)
}

/** The secret of the request that waits; '' if a page or nothing waits. */
export function requestSecretOf(waiting: string): string {
  return isConsolePath(waiting) ? '' : waiting
}
