import type { BerthClient } from '@berth/client/berth.ts'
import type { TokenSource } from './access-token.ts'
import { getAccessToken } from './current-token.ts'
import { readWarnings, request } from './http.ts'

/** Creates a client of the API that uses the sign-in. `warn`: receives the warnings in responses. */
export async function createClient(source: TokenSource, warn: (text: string) => void): Promise<BerthClient> {
  const { createBerthClient } = await import('@berth/client/berth.ts')
  return createBerthClient({
    baseUrl: source.settings.api,
    token: () => getAccessToken(source),
    async fetch(url, init) {
      const response = await request(url, init)
      for (const warning of readWarnings(response.headers)) warn(warning)
      return response
    },
  })
}
