import type { Context, Hono } from 'hono'
import type { AuditRecorder } from '../audit/recorder.ts'
import type { RequestRecord } from '../pipeline/request-record.ts'
import type { Log } from '../runtime/log.ts'
import type { Store } from '../storage/store.ts'
import type { AccessTokens } from '../tokens/access-token.ts'
import type { SigningKeys } from '../tokens/keys/signing-keys.ts'
import type { SessionClientInfo } from '../tokens/sessions/sessions.ts'
import type { OAuthClients } from './oauth/clients.ts'
import type { Providers } from './providers/providers.ts'
import type { Upstream } from './providers/upstream.ts'

/** What every page of the sign-in may use. */
export interface SignInContext {
  readonly store: Store
  /** `{auth_url}`, from the configuration: the Host header of a request is never believed (R39). */
  readonly authUrl: string
  /** What tokens may be for: the API's address, the registry's host. The first is the default. */
  readonly audiences: readonly string[]
  readonly tokens: AccessTokens
  readonly keys: SigningKeys
  readonly clients: OAuthClients
  readonly providers: Providers
  readonly upstream: Upstream
  /** The exchange, for a token of our own; resolves to the token. Rejects with an ApiError. */
  exchange(
    subjectToken: string,
    request: {
      readonly identity: string
      readonly audiences: readonly string[]
      readonly scopes: readonly string[]
    },
    from: { readonly requestId: string; readonly address: string },
  ): Promise<string>
  /** Takes what was refused; what was done is recorded in its own transaction. */
  readonly audit: AuditRecorder
  readonly log: Log
  requestMetadataOf(c: Context): SessionClientInfo
}

/** What the bridge from the port gives Hono beside the request. */
export interface PortBindings {
  readonly address: string
  readonly requestId: string
  readonly record: RequestRecord | undefined
}

/** What a handler of the sign-in finds on its `c`. */
export interface SignInEnv {
  Bindings: PortBindings
  Variables: {
    /** Origins besides our own that a form on the answered page may lead to; `allowFormTo` adds to them. */
    formTargets: readonly string[] | undefined
  }
}

/** The paths of one area of the sign-in. */
export type SignInRoutes = Hono<SignInEnv>
