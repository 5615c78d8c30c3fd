import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { errors, Provider } from 'oidc-provider'

/**
 * A token issuer to try Berth's token exchange with: a small OpenID provider, as a CI system or a Kubernetes cluster has one.
 * It knows one workload, `ci-job`, and gives it signed tokens for whatever audience it asks for. Not for production: its keys
 * are made anew at every start, and everybody on this machine may have a token.
 *
 *   npx node examples/issuer.ts [port]
 *
 * It serves discovery and keys on a port of loopback (default 8081) and prints its address and a token for the development
 * server. Further tokens:
 *
 *   curl -s http://127.0.0.1:8081/token -u ci-job:ci-job -d grant_type=client_credentials -d resource=<audience>
 */

const WORKLOAD = 'ci-job'
const TOKEN_SECONDS = 600
const port = Number(process.argv[2] ?? 8081)
const issuer = `http://127.0.0.1:${port}`
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

// The library tells of every default that is not fit for production; this program is not meant for it.
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

/** Asks as a workload does. */
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
