import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { serveParent } from './control.ts'

/** A token issuer on this machine: discovery, keys, and subject tokens for the process that started it. */

const algorithms = ['RS256', 'ES256'] as const
const pairs = new Map(
  await Promise.all(algorithms.map(async (alg) => [alg as string, await generateKeyPair(alg)] as const)),
)
const keys = await Promise.all(
  [...pairs].map(async ([alg, { publicKey }]) => ({
    ...(await exportJWK(publicKey)),
    kid: alg,
    alg,
    use: 'sig',
  })),
)
let issuer = ''

const server = createServer((request, response) => {
  const document =
    request.url === '/keys' ? { keys } : { issuer, jwks_uri: `${issuer}/keys`, response_types_supported: [] }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(document))
})
server.listen(0, '127.0.0.1', () => {
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  serveParent({ issuer }, { mint })
})

function mint({ alg, sub, aud }: { alg: string; sub: string; aud: string }): Promise<string> {
  const pair = pairs.get(alg)
  if (pair === undefined) throw new Error(`no key for ${alg}`)
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({ iss: issuer, sub, aud, iat: now, exp: now + 3600 })
    .setProtectedHeader({ alg, kid: alg, typ: 'JWT' })
    .sign(pair.privateKey)
}
