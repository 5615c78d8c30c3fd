import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { PersonProviderSettings } from './person-provider.ts'

/** A real OpenID provider in a process of its own. It signs in the person that the settings name, without asking. */

let settings: PersonProviderSettings = { clients: {}, person: undefined }
let answer: RequestListener = (_request, response) => response.writeHead(503).end()
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'person-key', alg: 'ES256', use: 'sig' }
const cookieKey = randomBytes(16).toString('hex')

const server = createServer((request, response) => answer(request, response))
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  configure(issuer)
  process.send?.({ issuer })
})
process.on('message', (next: PersonProviderSettings) => {
  settings = next
  configure(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  process.send?.({})
})
process.on('disconnect', () => process.exit())

function configure(issuer: string): void {
  const provider = new Provider(issuer, {
    jwks: { keys: [jwk] },
    cookies: { keys: [cookieKey] },
    clients: Object.entries(settings.clients).map(([id, redirects]) => ({
      client_id: id,
      client_secret: `secret-of-${id}`,
      redirect_uris: [...redirects],
      id_token_signed_response_alg: 'ES256',
    })),
    scopes: ['openid', 'email', 'groups'],
    claims: { openid: ['sub', 'email', 'email_verified', 'groups'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...settings.person, sub: id }) }),
    async loadExistingGrant(context) {
      const grant = new context.oidc.provider.Grant({
        accountId: context.oidc.session?.accountId as string,
        clientId: context.oidc.client?.clientId as string,
      })
      grant.addOIDCScope('openid email groups')
      await grant.save()
      return grant
    },
  })
  const handle = provider.callback()
  answer = (request, response) => {
    if (request.url?.startsWith('/interaction/') !== true) return void handle(request, response)
    const { person } = settings
    const result =
      person === undefined
        ? { error: 'access_denied' }
        : { login: { accountId: person.sub, remember: false } }
    provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false }).catch(() => {
      response.writeHead(500).end()
    })
  }
}
