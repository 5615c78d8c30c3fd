import { pendingStore } from '../../storage/pending-store.ts'
import type { Store } from '../../storage/store.ts'

/**
 * The thread of a sign-in: what some client wants from a person, kept while the person signs in. Every flow begins by keeping one
 * and sending the browser to `signInPath`; whichever way the person then proves who they are, the browser goes on to
 * `pathAfterSignIn`, where the flow asks for consent and answers the client.
 */
export interface AuthorizationRequest {
  /** id of the client: registered for codes and devices, else what it calls itself, which is never believed. */
  readonly client: string
  /** Hash of what binds the request to the browser that began it (flow-browser.ts). */
  readonly browser: string
  /** uid of the organization's identity provider to sign in with; '' lets the person choose. */
  readonly identityProvider: string
  /** Name of the operator's provider to sign in with; '' lets the person choose. */
  readonly connection: string
  /** Somebody who was never here is turned away instead of registered. */
  readonly skipRegistration: boolean
  /** Code of an invite that is accepted once somebody is signed in; '' for none. */
  readonly invite: string
  /** What the token is to be for, and how it is narrowed. */
  readonly audiences: readonly string[]
  readonly scopes: readonly string[]
  /** uid of another identity to assume; '' for the person's own. */
  readonly identity: string
  readonly refreshToken: boolean
  /** The client wants to be told who signed in; `nonce` goes into that, '' for none. */
  readonly idToken: boolean
  readonly nonce: string
  readonly reply: ResponseChannel
}

/** How the answer reaches the client. */
export type ResponseChannel =
  /** Authorization code with PKCE (RFC 6749, RFC 7636, RFC 8252). */
  | { readonly kind: 'code'; readonly redirect: string; readonly state: string; readonly challenge: string }
  /** The public SDK's browser flow: the token in the query of a loopback address. */
  | { readonly kind: 'loopback'; readonly redirect: string }
  /** The public SDK's headless flow: encrypted to the client's X25519 key. */
  | { readonly kind: 'headless'; readonly code: string }
  /** Device authorization grant (RFC 8628). */
  | { readonly kind: 'device'; readonly userCode: string }
  /** Nobody waits: an invite that is accepted in the browser. */
  | { readonly kind: 'none' }

/** What a flow asks for that asks for nothing in particular. */
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

/** How long somebody has from the beginning to the consent. */
export const AUTHORIZATION_REQUEST_MS = 15 * 60 * 1000

/** Requests under way, by the secret that is `?request=` in the pages of the sign-in. */
export function authorizationRequests(store: Pick<Store, 'db' | 'clock' | 'secretsKey'>) {
  return pendingStore<AuthorizationRequest>(store, 'authorization', AUTHORIZATION_REQUEST_MS)
}

export function signInPath(request: string): string {
  return `/sign-in?request=${encodeURIComponent(request)}`
}

/** Where a browser goes once somebody signed in; `request` is undefined when no client is waiting. */
export function pathAfterSignIn(request: string | undefined): string {
  return request === undefined ? '/account' : `/oauth/continue?request=${encodeURIComponent(request)}`
}
