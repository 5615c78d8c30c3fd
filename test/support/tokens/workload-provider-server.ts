import { generateKeyPairSync } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

/**
 * A real OpenID provider in a process of its own, which issues tokens to jobs as CI systems and clusters do: signed with RS256 and
 * with the claims that it received last.
 */

let claims: Readonly<Record<string, unknown>> = {}
let answer: RequestListener = (_request, response) => response.writeHead(503).end()

const server = createServer((request, response) => answer(request, response))
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'job-key', alg: 'RS256', use: 'sig' }] },
    clients: [
      {
        client_id: 'job',
        client_secret: 'job',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => ({
          scope: '',
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    formats: {
      customizers: {
        jwt(_context, _token, { payload }) {
          // What only this provider has is left out, what these issuers have and it has not is added.
          delete payload['client_id']
          delete payload['scope']
          Object.assign(payload, { nbf: payload['iat'] }, claims)
          for (const [name, value] of Object.entries(claims)) if (value === undefined) delete payload[name]
        },
      },
    },
  })
  answer = provider.callback()
  process.send?.({ issuer })
})
process.on('message', (told: Readonly<Record<string, unknown>>) => {
  claims = told
  process.send?.({ told: true })
})
process.on('disconnect', () => process.exit())
