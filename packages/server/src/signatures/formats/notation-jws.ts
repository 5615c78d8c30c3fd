import type { KeyObject } from 'node:crypto'
import { flattenedVerify } from 'jose'
import { InvalidSignature, type NotationCandidate } from './candidate.ts'
import { parseSignerCertificate } from './certificates.ts'
import { requireEnvelope, requireTarget } from './notation-envelope.ts'
import { members, parseSignatureObject, requireBase64, requireText } from './signature-json.ts'

/**
 * Notation's envelopes in JWS (https://github.com/notaryproject/specifications/blob/main/specs/signature-envelope-jws.md): the flattened JSON
 * form. Pure.
 */

export const JWS_TYPE = 'application/jose+json'

/** Algorithms of the Notary Project. */
const algorithms = ['PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512']

export function readNotationJws(content: Uint8Array, image: string): NotationCandidate {
  const { payload, protected: encoded, signature, header } = parseSignatureObject(content, 'the envelope')
  const jws = {
    payload: requireBase64Url(payload, 'the payload of the envelope'),
    protected: requireBase64Url(encoded, 'the protected header'),
    signature: requireBase64Url(signature, 'the signature of the envelope'),
  }
  const names = parseSignatureObject(Buffer.from(jws.protected, 'base64url'), 'the protected header')
  requireTarget(Buffer.from(jws.payload, 'base64url'), image)
  const { x5c } = members(header)
  const critical = names['crit']
  return {
    kind: 'notation',
    ...requireEnvelope({
      contentType: names['cty'],
      scheme: names['io.cncf.notary.signingScheme'],
      critical: Array.isArray(critical) ? critical : [],
      certificates: (Array.isArray(x5c) ? x5c : []).map((text) => requireBase64(text, 'a certificate')),
      parse: parseSignerCertificate,
    }),
    signedMs: timeOf(names['io.cncf.notary.signingTime'], 'the signing time'),
    expiresMs: timeOf(names['io.cncf.notary.expiry'], 'the expiry'),
    verify: (key) => verifyJws(jws, key),
  }
}

type FlattenedJws = Parameters<typeof flattenedVerify>[0]

async function verifyJws(jws: FlattenedJws, key: KeyObject): Promise<boolean> {
  // The other critical headers of the specification are rejected before.
  const crit = { 'io.cncf.notary.signingScheme': true, 'io.cncf.notary.expiry': true }
  try {
    await flattenedVerify(jws, key, { algorithms, crit })
    return true
  } catch {
    // Errors of every kind come from headers and keys that do not belong together.
    return false
  }
}

function requireBase64Url(value: unknown, what: string): string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9_-]+$/.test(value))
    throw new InvalidSignature(`${what} is not base64url`)
  return value
}

function timeOf(value: unknown, what: string): number | undefined {
  if (value === undefined) return undefined
  const ms = Date.parse(requireText(value, what))
  if (Number.isNaN(ms)) throw new InvalidSignature(`${what} is not a time`)
  return ms
}
