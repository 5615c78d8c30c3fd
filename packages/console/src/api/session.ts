/** What the server wrote into the page. It is not secret from the user; another site cannot read it. */
interface Session {
  /** uid of the identity. */
  readonly identity: string
  /** Sent with every request, as proof that a page of this server sent it. */
  csrfToken: string
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

let renewal: Promise<boolean> | undefined

/** Continues with a later session of the same user, who has signed in on another page. Returns false if there is none. */
export function renewSession(): Promise<boolean> {
  renewal ??= readLaterSession()
    .catch(() => false)
    .finally(() => {
      renewal = undefined
    })
  return renewal
}

async function readLaterSession(): Promise<boolean> {
  // Without a session, the server redirects to the sign-in.
  const response = await fetch('/console', { credentials: 'same-origin', redirect: 'manual' })
  const page = response.ok ? await response.text() : ''
  // The content security policy permits no parser of HTML. The server escapes each < in the session.
  const [, text] = /id="session">([^<]+)</.exec(page) ?? []
  if (text === undefined) return false
  const { identity, csrfToken } = JSON.parse(text) as Session
  if (identity !== session.identity || csrfToken === session.csrfToken) return false
  session.csrfToken = csrfToken
  return true
}
