import type { Context } from 'hono'
import type { AuditRecorder } from '../audit/recorder.ts'
import type { ReadGrants } from '../pipeline/authorization.ts'
import type { IncomingCall } from '../pipeline/call.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { RequestRecord } from '../pipeline/request-record.ts'
import type { Log } from '../runtime/log.ts'
import type { Store } from '../storage/store.ts'
import type { AccessTokens } from '../tokens/access-token.ts'
import type { SigningKeys } from '../tokens/keys/signing-keys.ts'
import type { SessionClientInfo } from '../tokens/sessions/sessions.ts'
import type { OAuthClients } from './oauth/clients.ts'
import type { Providers } from './providers/providers.ts'
import type { Upstream } from './providers/upstream.ts'

/** Dependencies of every route of the sign-in. */
export interface SignInContext {
  /** For the adapter of the routes alone (pages/page-routes.ts). */
  readonly pipeline: Pick<Pipeline, 'start' | 'handle' | 'finish'>
  readonly store: Store
  /** `{auth_url}` from the configuration; the Host header of a request is never used (R39). */
  readonly authUrl: string
  /** Audiences that tokens may have: the API's address, the registry's host. The first is the default. */
  readonly audiences: readonly string[]
  readonly tokens: AccessTokens
  readonly keys: SigningKeys
  readonly clients: OAuthClients
  /** Whether the operator has configured a mail server. */
  readonly sendsMail: boolean
  readonly providers: Providers
  readonly upstream: Upstream
  /** Exchanges a token of this server; resolves to the new token. Rejects with an ApiError. */
  exchange(
    subjectToken: string,
    request: {
      readonly identity: string
      readonly audiences: readonly string[]
      readonly scopes: readonly string[]
    },
    from: { readonly requestId: string; readonly address: string },
  ): Promise<string>
  /** Reads what a user may do, for pages that show it. */
  readonly readGrants: ReadGrants
  /** Records denials. Successful changes are recorded in their own transaction. */
  readonly audit: AuditRecorder
  readonly log: Log
  requestMetadataOf(c: Context): SessionClientInfo
}

/** Values that the port passes to Hono beside the request. */
export interface PortBindings {
  readonly address: string
  readonly requestId: string
  readonly record: RequestRecord | undefined
  /** The request as the pipeline reads it. */
  readonly incoming: IncomingCall
}

/** The Hono environment of a sign-in handler. */
export interface SignInEnv {
  Bindings: PortBindings
  Variables: {
    /** Origins besides our own that forms of the page may redirect to; `allowFormRedirectTo` adds to them. */
    formTargets: readonly string[] | undefined
  }
}
