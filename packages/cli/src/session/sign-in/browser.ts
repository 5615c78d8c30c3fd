import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CommandFailed, postForm } from '../access-token.ts'
import { hasDisplay, openUrl } from '../open-url.ts'
import { failedPage, notFoundPage, sendPage, signedInPage } from './loopback-pages.ts'
import {
  allAudiences,
  CLIENT_ID,
  INVALID_TARGET,
  parseTokens,
  type SignedInTokens,
  type SignInRequest,
} from './request.ts'

/**
 * Sign-in with a browser: authorization code with PKCE and a loopback redirect (RFC 8252, RFC 7636). No URL contains a token (R37).
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
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const addressFor = (audiences: readonly string[]) =>
      authorizeUrl(request, { redirect, state, challenge, audiences })
    const code = waitForCode(server, {
      state,
      issuer: request.issuer,
      // Used if the server does not know the registry as audience.
      fallbackUrl: request.optionalAudience === undefined ? undefined : addressFor(request.audiences),
    })
    await openBrowser(addressFor(allAudiences(request)), request.print)
    return parseTokens(
      await postForm(`${request.issuer}/oauth/token`, {
        grant_type: 'authorization_code',
        client_id: CLIENT_ID,
        code: await code,
        redirect_uri: redirect,
        code_verifier: verifier,
        audience: request.audiences[0],
      }),
    )
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

interface AuthorizeParameters {
  readonly redirect: string
  readonly state: string
  readonly challenge: string
  readonly audiences: readonly string[]
}

function authorizeUrl(
  request: SignInRequest,
  { redirect, state, challenge, audiences }: AuthorizeParameters,
): string {
  const url = new URL('/oauth/authorize', request.issuer)
  const parameters: Record<string, string> = {
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: redirect,
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...(request.identityProvider === '' ? {} : { idp_id: request.identityProvider }),
    ...(request.connection === '' ? {} : { connection: request.connection }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  for (const audience of audiences) url.searchParams.append('audience', audience)
  return url.href
}

async function openBrowser(url: string, print: SignInRequest['print']): Promise<void> {
  if (!hasDisplay()) {
    print(`Open this URL in a browser on this machine:\n\n  ${url}\n`)
    return print('To sign in without a browser on this machine: berth auth login --headless')
  }
  print(`Opening ${url} in a browser`)
  await openUrl(url, () => print('The browser did not open. Open the URL yourself.'))
}

interface ExpectedCallback {
  readonly state: string
  readonly issuer: string
  /** Used if the server does not know a requested audience. */
  readonly fallbackUrl: string | undefined
}

/** Returns the authorization code. Rejects if the sign-in is denied or times out. */
function waitForCode(
  server: ReturnType<typeof createServer>,
  { state, issuer, fallbackUrl: other }: ExpectedCallback,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new CommandFailed('the sign-in was not completed within 5 minutes')),
      WAIT_MS,
    ).unref()
    let next = other
    server.on('request', (request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1')
      const parameters = url.searchParams
      // Any page can send a browser here: only requests with our state belong to this sign-in.
      if (url.pathname !== '/callback' || parameters.get('state') !== state)
        return sendPage(response, 404, notFoundPage)
      if (parameters.get('error') === INVALID_TARGET && next !== undefined) {
        response.writeHead(302, { location: next, 'cache-control': 'no-store' }).end()
        next = undefined
        return
      }
      clearTimeout(timer)
      const code = parameters.get('code')
      // RFC 9207: the response must come from our issuer.
      const isOurs = (parameters.get('iss') ?? issuer) === issuer
      if (code !== null && isOurs) {
        // Send the page before the command exits and closes this server.
        sendPage(response, 200, signedInPage)
        response.once('close', () => resolve(code))
        return
      }
      sendPage(response, 400, failedPage)
      const reason = isOurs
        ? (parameters.get('error_description') ?? parameters.get('error') ?? 'the response contains no code')
        : `the response is from ${parameters.get('iss')}, expected ${issuer}`
      response.once('close', () => reject(new CommandFailed(`the sign-in failed: ${reason}`)))
    })
  })
}
