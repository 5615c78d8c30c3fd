import { matchRegisteredUri, parseRedirectUri } from './redirect-uri.ts'

/**
 * The programs that may ask people to sign in. All are public clients (RFC 8252 section 8.4): none has a secret, so what proves
 * that an answer reaches the right one is its redirect and its proof key.
 */
export interface OAuthClient {
  readonly id: string
  /** What people read. */
  readonly name: string
  /** Where its answers may go; the port of a loopback address is open. Empty: it can only use device codes. */
  readonly redirects: readonly string[]
}

/** A client as the operator's configuration has it. */
export interface ClientSetting {
  readonly id: string
  readonly redirect: string
}

export interface OAuthClients {
  /** Undefined for one that is not known. */
  byId(id: string): OAuthClient | undefined
  /** The address, when this client may be answered there. */
  matchRedirectUri(client: OAuthClient, asked: string): URL | undefined
}

const ID = /^[a-z0-9][a-z0-9-]{0,62}$/

const cliClient: OAuthClient = {
  id: 'berth-cli',
  name: 'Berth command line',
  redirects: ['http://127.0.0.1/callback', 'http://[::1]/callback', 'http://localhost/callback'],
}

/** `id=redirect`; undefined for anything else, and for the name of the built-in client. */
export function parseClientSetting(text: string): ClientSetting | undefined {
  const separator = text.indexOf('=')
  const [id, redirect] = [text.slice(0, Math.max(separator, 0)), text.slice(separator + 1)]
  // Whoever writes a star means any address, and would get that one.
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
    matchRedirectUri: ({ redirects }, asked) => matchRegisteredUri(redirects, asked),
  }
}
