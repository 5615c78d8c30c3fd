import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ClientMetadata, Provider } from 'oidc-provider'

/**
 * oidc-provider in a process of its own, with its own pages for sign-in and consent. Reports its issuer, then starts with the clients
 * that it receives.
 */

export interface OpenIdProviderSetup {
  readonly clients: readonly ClientMetadata[]
  /** Claims of users by their login name. */
  readonly users: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** False: responses and discovery document are without `iss`, as those of many providers. */
  readonly namesIssuer: boolean
}

let answer: RequestListener = (_request, response) => response.writeHead(503).end()
const server = createServer((request, response) => answer(request, response))
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  process.send?.({ issuer })
  process.once('message', (setup: OpenIdProviderSetup) => {
    answer = providerOf(issuer, setup).callback()
    process.send?.({ ready: true })
  })
})
process.on('disconnect', () => process.exit())

function providerOf(issuer: string, { clients, users, namesIssuer }: OpenIdProviderSetup): Provider {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'key', alg: 'ES256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    clients: clients.map((client) => ({ ...client, id_token_signed_response_alg: 'ES256' })),
    scopes: ['openid', 'email', 'groups'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    pkce: { required: () => true },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...users[id], sub: id }) }),
  })
  if (!namesIssuer) provider.use(withoutIssuer)
  return provider
}

const withoutIssuer: Parameters<Provider['use']>[0] = async (context, next) => {
  await next()
  const location = context.response.get('location')
  if (context.path === '/.well-known/openid-configuration') {
    const { authorization_response_iss_parameter_supported: _, ...metadata } = context.body as object & {
      authorization_response_iss_parameter_supported?: unknown
    }
    context.body = metadata
  } else if (URL.canParse(location)) {
    const url = new URL(location)
    url.searchParams.delete('iss')
    context.set('location', url.href)
  }
}
