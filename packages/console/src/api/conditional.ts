/**
 * Reads of lists are conditional: a response that has not changed costs a few bytes. The server sends `Cache-Control: no-store`, so that browsers
 * keep nothing on disk; what is kept here is gone with the page.
 */

type Fetch = (url: string, init: RequestInit) => Promise<Response>

const CHARACTERS_MAX = 4_000_000
const NOT_MODIFIED = 304
/**
 * Resources by uid are read as a whole: their tag is their version, and some of their values change without a new one, such as when an
 * identity was last seen. The tag of a list covers its whole content.
 */
const RESOURCE = /^[^?]*\/[0-9a-f]{40}/

interface Kept {
  readonly etag: string
  readonly text: string
  readonly headers: Headers
}

export function conditional(send: Fetch): Fetch {
  const kept = new Map<string, Kept>()
  let characters = 0

  const forget = (url: string) => {
    characters -= kept.get(url)?.text.length ?? 0
    kept.delete(url)
  }
  const keep = (url: string, one: Kept) => {
    forget(url)
    if (one.text.length > CHARACTERS_MAX) return
    kept.set(url, one)
    characters += one.text.length
    for (const oldest of kept.keys()) {
      if (characters <= CHARACTERS_MAX) break
      forget(oldest)
    }
  }

  return async (url, init) => {
    if ((init.method ?? 'GET') !== 'GET' || RESOURCE.test(url)) return send(url, init)
    const known = kept.get(url)
    const headers = new Headers(init.headers)
    if (known !== undefined) headers.set('if-none-match', known.etag)
    const response = await send(url, { ...init, headers })
    if (response.status === NOT_MODIFIED && known !== undefined) {
      keep(url, known)
      return new Response(known.text, { headers: known.headers })
    }
    const etag = response.headers.get('etag')
    if (!response.ok || etag === null) {
      forget(url)
      return response
    }
    const text = await response.text()
    keep(url, { etag, text, headers: response.headers })
    return new Response(text, { headers: response.headers })
  }
}
