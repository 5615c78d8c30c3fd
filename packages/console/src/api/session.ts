/** What the server wrote into the page: the signed-in user and the token that protects changes against other sites. */
export interface Session {
  /** uid of the identity. */
  readonly identity: string
  /** Display name; the email address or the uid if the user has none. */
  readonly name: string
  readonly email: string
  /** Sent with every request of the page. Another site cannot read it. */
  readonly csrfToken: string
  /** Whether the user operates the server. */
  readonly isOperator: boolean
  /** `{api_url}` of the server. */
  readonly apiUrl: string
  /** Host name of the registry, as in image references. */
  readonly registryHost: string
  readonly version: string
}

function readSession(): Session {
  const text = document.getElementById('session')?.textContent
  if (!text) throw new Error('the page has no session')
  return JSON.parse(text) as Session
}

export const session: Session = readSession()
