/** What the server wrote into the page. It is not secret from the user; another site cannot read it. */
interface Session {
  /** uid of the identity. */
  readonly identity: string
  /** Sent with every request, as proof that a page of this server sent it. */
  readonly csrfToken: string
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
