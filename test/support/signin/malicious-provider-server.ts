import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * The OpenID provider of an attacker, in a process of its own: sends browsers that arrive on to the address that it received last, with
 * the `state` that they arrived with (mix-up, RFC 9700 section 4.4.1), and reports what its token endpoint receives. With the argument
 * `iss` its discovery document promises to name it in responses.
 */

const promisesIss = process.argv[2] === 'iss'
let forward = ''
const received: string[] = []

const server = createServer(async (request, response) => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = new URL(request.url ?? '', issuer)
  if (url.pathname === '/auth') {
    const target = new URL(forward)
    target.searchParams.set('state', url.searchParams.get('state') ?? '')
    return response.writeHead(302, { location: target.href }).end()
  }
  if (url.pathname === '/token') {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    received.push(body)
    process.send?.({ received })
    return response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
  }
  return response.setHeader('content-type', 'application/json').end(
    JSON.stringify({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: promisesIss,
    }),
  )
})
server.listen(0, '127.0.0.1', () => {
  process.send?.({ issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
})
process.on('message', (message: { readonly forward: string }) => {
  forward = message.forward
  process.send?.({ received })
})
process.on('disconnect', () => process.exit())
