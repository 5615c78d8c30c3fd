import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { errors, Provider } from 'oidc-provider'

/**
 * Runs a token issuer for trying the token exchange: a small OpenID provider, like the one of a CI system or a Kubernetes cluster.
 * It has one workload, `ci-job`, and issues signed tokens for any audience. Not for production: it creates new keys at every start, and
 * anyone on this machine can get a token.
 *
 *   npx node examples/issuer.ts [port]
 *
 * It serves discovery and keys on a loopback port (default 8081), and prints its URL and a token for the development server. To get
 * another token:
 *
 *   curl -s http://127.0.0.1:8081/token -u ci-job:ci-job -d grant_type=client_credentials -d resource=<audience>
 */

const WORKLOAD = 'ci-job'
const TOKEN_SECONDS = 600
const port = Number(process.argv[2] ?? 8081)
const issuer = `http://127.0.0.1:${port}`
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

// The library warns about defaults that are unsuitable for production.
console.warn = () => undefined

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'example', alg: 'ES256', use: 'sig' }] },
  cookies: { keys: [randomBytes(32).toString('hex')] },
  clients: [
    {
      client_id: WORKLOAD,
      client_secret: WORKLOAD,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      id_token_signed_response_alg: 'ES256',
    },
  ],
  ttl: { ClientCredentials: TOKEN_SECONDS },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(_context, audience) {
        if (audience === '') throw new errors.InvalidTarget()
        return { scope: '', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } }
      },
    },
  },
})

provider.listen(port, '127.0.0.1', async () => {
  const token = await tokenFor(process.env['BERTH'] ?? 'http://127.0.0.1:8080')
  process.stdout.write(`ready ${issuer}\n${token}\n`)
})

/** Requests a token as the workload. */
async function tokenFor(audience: string): Promise<string> {
  const credentials = Buffer.from(`${WORKLOAD}:${WORKLOAD}`).toString('base64')
  const reply = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience }),
  })
  const { access_token } = (await reply.json()) as { access_token: string }
  return access_token
}
