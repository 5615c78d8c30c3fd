import type { Context } from 'hono'
import type { Log } from '../log.ts'
import type { Store } from '../storage/store.ts'
import type { AccessTokens } from '../sts/access-token.ts'
import type { SessionPlace } from '../sts/sessions.ts'

/** What every page of the sign-in may use. */
export interface SignInContext {
  readonly store: Store
  /** `{auth_url}`, from the configuration: the Host header of a request is never believed (R39). */
  readonly authUrl: string
  /** What tokens may be for: the API's address, the registry's host. The first is the default. */
  readonly audiences: readonly string[]
  readonly tokens: AccessTokens
  readonly log: Log
  placeOf(c: Context): SessionPlace
}

/** What the bridge from the port gives Hono beside the request. */
export interface PortBindings {
  readonly address: string
  readonly requestId: string
}
