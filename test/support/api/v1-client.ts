import type { Api, ApiFixture } from './api-fixture.ts'
import type { RestReply } from './rest.ts'

/** Calls by REST of version 1, which openapi.json does not describe, as one caller; paths such as `registry/repos/<id>`. */
export interface V1Client {
  get(path: string): Promise<RestReply>
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<RestReply>
  put(path: string, body?: unknown): Promise<RestReply>
  delete(path: string): Promise<RestReply>
}

export function v1ClientOf({ berth }: Pick<ApiFixture, 'berth'>, { token }: Pick<Api, 'token'>): V1Client {
  const send =
    (method: string) =>
    async (path: string, body?: unknown, more: Readonly<Record<string, string>> = {}): Promise<RestReply> => {
      const response = await fetch(`${berth.url}/${path.replace('/', '/v1/')}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const { status, headers } = response
      const text = await response.text()
      return { status, headers, text, body: JSON.parse(text) }
    }
  return { get: send('GET'), post: send('POST'), put: send('PUT'), delete: send('DELETE') }
}
