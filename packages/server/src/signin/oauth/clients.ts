import { matchRegisteredUri, parseRedirectUri } from './redirect-uri.ts'

/**
 * The registered OAuth clients. All are public (RFC 8252 section 8.4): the redirect URI and the code challenge ensure that a response
 * reaches the right client.
 */
export interface OAuthClient {
  readonly id: string
  /** Name for users. */
  readonly name: string
  /** Redirect URIs; the port of a loopback address may vary. Empty: it can only use device codes. */
  readonly redirects: readonly string[]
}

/** A client of the operator's configuration. */
export interface ClientSetting {
  readonly id: string
  readonly redirect: string
}

export interface OAuthClients {
  /** Undefined for an unknown client. */
  byId(id: string): OAuthClient | undefined
  /** The requested redirect URI, if it is registered for the client. */
  matchRedirectUri(client: OAuthClient, requested: string): URL | undefined
}

const ID = /^[a-z0-9][a-z0-9-]{0,62}$/

const cliClient: OAuthClient = {
  id: 'berth-cli',
  name: 'Berth command line',
  redirects: ['http://127.0.0.1/callback', 'http://[::1]/callback', 'http://localhost/callback'],
}

/** Parses `id=redirect`; undefined for any other text, and for the name of the built-in client. */
export function parseClientSetting(text: string): ClientSetting | undefined {
  const separator = text.indexOf('=')
  const [id, redirect] = [text.slice(0, Math.max(separator, 0)), text.slice(separator + 1)]
  // A wildcard is not supported: it would be compared literally.
  if (redirect.includes('*')) return undefined
  return ID.test(id) && id !== cliClient.id && parseRedirectUri(redirect) !== undefined
    ? { id, redirect }
    : undefined
}

export function oauthClients(settings: readonly ClientSetting[]): OAuthClients {
  const clients = new Map([[cliClient.id, cliClient]])
  for (const { id, redirect } of settings) {
    clients.set(id, { id, name: id, redirects: [...(clients.get(id)?.redirects ?? []), redirect] })
  }
  return {
    byId: (id) => clients.get(id),
    matchRedirectUri: ({ redirects }, requested) => matchRegisteredUri(redirects, requested),
  }
}
