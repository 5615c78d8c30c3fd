import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { assertOciError, bearerOf, ociClient, requestAt } from '../support/registry/registry.ts'

onEveryDatabase(
  'registry: rate limits',
  (cast) => {
    test('requests are counted with the calls of the API, for the identity and for the address', async () => {
      const { berth } = cast()
      const client = ociClient(berth, await bearerOf(berth, berth.owner))
      const path = `${berth.organization}/repo/tags/list`
      for (let n = 0; n < 3; n++) assertOciError(await client.request('GET', path), 404, 'NAME_UNKNOWN')
      const refused = await client.request('GET', path)
      assertOciError(refused, 429, 'TOOMANYREQUESTS')
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      for (let n = 0; n < 4; n++) await requestAt(`${berth.url}/token`)
      assertOciError(await requestAt(`${berth.url}/token`), 429, 'TOOMANYREQUESTS')
    })
  },
  { env: { BERTH_RATE_LIMITS: 'read=3/60s', BERTH_RATE_LIMITS_ADDRESS: 'read=8/60s' } },
)
