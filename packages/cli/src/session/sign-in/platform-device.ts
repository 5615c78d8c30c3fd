import { createDecipheriv, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { CommandFailed, errorMessage, parseJsonOrMessage, postForm, toUnreachable } from '../access-token.ts'
import { request } from '../http.ts'
import type { SignedInTokens, SignInRequest } from './request.ts'

/**
 * The headless flow of the platform: the response is encrypted to a key generated for this sign-in (X25519, AES-256-GCM), and the page
 * shows the start of that key.
 */

const WAIT_MS = 15 * 60 * 1000
const INTERVAL_MS = 2000
const NONCE_BYTES = 12
const TAG_BYTES = 16
const FINGERPRINT_CHARS = 8

export async function signInWithPlatformFlow(asked: SignInRequest): Promise<SignedInTokens> {
  const { issuer, audiences, print } = asked
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const code = publicKey.export({ format: 'jwk' }).x ?? ''
  const url = new URL('/oauth', issuer)
  url.searchParams.set('headless_code', code)
  if (asked.identityProvider !== '') url.searchParams.set('idp_id', asked.identityProvider)
  else if (asked.connection !== '') url.searchParams.set('connection', asked.connection)
  print(`Open this URL on any device:\n\n  ${url.href}\n`)
  print(`Continue only if the page shows the code ${code.slice(0, FINGERPRINT_CHARS)}.`)
  const untilMs = Date.now() + WAIT_MS
  while (Date.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS))
    const answer = await fetchHeadlessSession(issuer, code)
    if (answer === undefined) continue
    const idToken = decrypt(privateKey, answer)
    const tokenFor = async (aud: string | undefined) => {
      const reply = await postForm(`${issuer}/sts/exchange`, { aud }, idToken)
      const { token } = reply.body as { readonly token?: string }
      if (reply.status !== 200 || !token)
        throw new CommandFailed(`the sign-in failed: ${errorMessage(reply.body)}`)
      return token
    }
    return { accessToken: await tokenFor(audiences[0]), refreshToken: undefined, exchangeFor: tokenFor }
  }
  throw new CommandFailed('the sign-in was not completed within 15 minutes')
}

interface EncryptedIdToken {
  readonly ecdhPublicKey: string
  readonly encryptedIdtoken: string
}

/** Returns undefined until the user has signed in. */
async function fetchHeadlessSession(issuer: string, code: string): Promise<EncryptedIdToken | undefined> {
  const url = `${issuer}/sts/headless_sessions?code=${encodeURIComponent(code)}`
  let response: Response
  try {
    response = await request(url)
  } catch (error) {
    throw toUnreachable(url, error)
  }
  if (response.status === 404) return undefined
  const body = parseJsonOrMessage(await response.text())
  if (!response.ok) throw new CommandFailed(`the sign-in failed: ${errorMessage(body)}`)
  return body as EncryptedIdToken
}

function decrypt(
  privateKey: Parameters<typeof diffieHellman>[0]['privateKey'],
  { ecdhPublicKey, encryptedIdtoken }: EncryptedIdToken,
): string {
  // The key is base64url text, encoded again in base64 because it is a bytes field in JSON.
  const x = Buffer.from(ecdhPublicKey, 'base64').toString()
  const theirs = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' })
  const secret = diffieHellman({ privateKey, publicKey: theirs })
  const bytes = Buffer.from(encryptedIdtoken, 'base64')
  const cipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(0, NONCE_BYTES))
  cipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const text = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
  try {
    return cipher.update(text, undefined, 'utf8') + cipher.final('utf8')
  } catch {
    throw new CommandFailed('the sign-in failed: the response cannot be decrypted')
  }
}
