import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { postForm, Refused } from '../client/session.ts'
import { CLIENT_ID, type SignedInTokens, type SignInRequest, tokensOf } from './sign-in-request.ts'

/**
 * Signing in with a browser: authorization code with a proof key on an address of this machine (RFC 8252, RFC 7636). No token is
 * ever in an address (R37).
 */

const WAIT_MS = 5 * 60 * 1000

export async function signInWithBrowser(request: SignInRequest): Promise<SignedInTokens> {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(24).toString('base64url')
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const redirect = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
    const url = new URL('/oauth/authorize', request.issuer)
    const parameters: Record<string, string> = {
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: redirect,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(request.identityProvider === '' ? {} : { idp_id: request.identityProvider }),
      ...(request.connection === '' ? {} : { connection: request.connection }),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    for (const audience of request.audiences) url.searchParams.append('audience', audience)
    const code = codeFrom(server, state, request.issuer)
    await openBrowser(url.href, request.tell)
    return await redeem(request, { code: await code, redirect, verifier })
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

async function openBrowser(url: string, tell: SignInRequest['tell']): Promise<void> {
  tell(`Opening browser to ${url}`)
  try {
    const { default: open } = await import('open')
    const child = await open(url)
    // Without a browser the address above is all there is, and enough.
    child.on('error', () => undefined)
  } catch {
    tell('Please open a browser to that address.')
  }
}

/** The code that the browser brings. Rejects when somebody refused, or nobody came. */
function codeFrom(server: ReturnType<typeof createServer>, state: string, issuer: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Refused('nobody signed in within five minutes')), WAIT_MS)
    server.on('request', (request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1')
      const answer = url.searchParams
      // Any page can send a browser here: only what carries our state is about this sign-in.
      if (url.pathname !== '/callback' || answer.get('state') !== state) {
        response.writeHead(404, plain).end('There is nothing here.\n')
        return
      }
      clearTimeout(timer)
      const code = answer.get('code')
      const refused = answer.get('error_description') ?? answer.get('error')
      // RFC 9207: an answer of somebody else's does not count.
      const isOurs = (answer.get('iss') ?? issuer) === issuer
      if (code === null || !isOurs) {
        response.writeHead(400, plain).end('You are not signed in. You can close this window.\n')
        reject(new Refused(`the sign-in was refused: ${refused ?? 'there is no code in the answer'}`))
      } else {
        response
          .writeHead(200, plain)
          .end('You are signed in. You can close this window and go on in your terminal.\n')
        resolve(code)
      }
    })
  })
}

const plain = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  connection: 'close',
}

async function redeem(
  { issuer, audiences }: SignInRequest,
  { code, redirect, verifier }: { code: string; redirect: string; verifier: string },
): Promise<SignedInTokens> {
  return tokensOf(
    await postForm(`${issuer}/oauth/token`, {
      grant_type: 'authorization_code',
      client_id: CLIENT_ID,
      code,
      redirect_uri: redirect,
      code_verifier: verifier,
      audience: audiences[0],
    }),
  )
}
