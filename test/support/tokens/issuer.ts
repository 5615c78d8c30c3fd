import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CompactSign } from 'jose'
import type { Cleanup } from '../server/process.ts'

export type Responder = (request: IncomingMessage, response: ServerResponse) => void

/** Signs any payload, also one that no library would: the token has exactly the given content. */
export function signJws(
  payload: unknown,
  key: KeyObject | Uint8Array,
  header: Readonly<Record<string, unknown>>,
): Promise<string> {
  const bytes = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload))
  return new CompactSign(bytes).setProtectedHeader({ alg: 'ES256', ...header }).sign(key)
}

/** A compact JWS of these parts, with a signature that means nothing. */
export function unsignedJws(header: unknown, payload: unknown, signature = 'AA'): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part(header)}.${part(payload)}.${signature}`
}

export function newSigner(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { kid, privateKey, publicKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256' } }
}

/** An issuer of workload tokens on plain http of loopback. */
export interface TestIssuer {
  readonly name: string
  /** Paths that it was asked for. */
  readonly requests: string[]
  /** Answers instead of the issuer's own documents while it is set. */
  answer: Responder | undefined
  /** Replaces the one key that it publishes and signs with. */
  rotate(kid: string): void
  readonly signer: ReturnType<typeof newSigner>
  /** A token of it; a claim given as undefined is left out. */
  sign(
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ): Promise<string>
}

export const SUBJECT = 'repo:acme/app:ref:refs/heads/main'

export async function startIssuer(t: Cleanup, clock: () => number = Date.now): Promise<TestIssuer> {
  const requests: string[] = []
  let signer = newSigner('k1')
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    if (issuer.answer !== undefined) return issuer.answer(request, response)
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer: issuer.name, jwks_uri: `${issuer.name}/keys` },
      '/keys': { keys: [signer.jwk] },
    }
    const document = documents[request.url ?? '']
    if (document === undefined) response.writeHead(404).end()
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(document))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer: TestIssuer = {
    name: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: undefined,
    rotate(kid) {
      signer = newSigner(kid)
    },
    get signer() {
      return signer
    },
    sign(claims = {}, header = {}) {
      const now = Math.floor(clock() / 1000)
      const payload = { iss: issuer.name, sub: SUBJECT, iat: now, exp: now + 300, ...claims }
      return signJws(payload, signer.privateKey, { kid: signer.kid, ...header })
    },
  }
  return issuer
}
