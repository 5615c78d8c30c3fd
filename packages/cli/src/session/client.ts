import type { BerthClient } from '@berth/client/berth.ts'
import { getAccessToken, type TokenSource } from './access-token.ts'
import { request } from './http.ts'

/** Creates a client of the API that uses the sign-in. */
export async function createClient(source: TokenSource): Promise<BerthClient> {
  const { createBerthClient } = await import('@berth/client/berth.ts')
  return createBerthClient({
    baseUrl: source.settings.api,
    token: () => getAccessToken(source),
    fetch: request,
  })
}
