import { constants, type KeyObject, verify } from 'node:crypto'
import { decode, encode } from 'cborg'
import { limits } from '../../config/limits.ts'
import { InvalidSignature, type NotationCandidate } from './candidate.ts'
import { parseSignerCertificate } from './certificates.ts'
import { requireEnvelope, requireTarget } from './notation-envelope.ts'
import { members } from './signature-json.ts'

/**
 * Notation's envelopes in COSE (https://github.com/notaryproject/specifications/blob/main/specs/signature-envelope-cose.md): COSE_Sign1 of
 * RFC 9052, tagged 18. Pure.
 */

export const COSE_TYPE = 'application/cose'

/** Numbers of headers (RFC 9052, RFC 9360). */
const header = { algorithm: 1, critical: 2, contentType: 3, x5chain: 33 } as const

interface Algorithm {
  readonly hash: 'sha256' | 'sha384' | 'sha512'
  readonly key: 'rsa' | 'ec'
  readonly curve?: string
}

/** Numbers of algorithms (RFC 9053, RFC 8230). */
const algorithms: ReadonlyMap<unknown, Algorithm> = new Map<unknown, Algorithm>([
  [-37, { hash: 'sha256', key: 'rsa' }],
  [-38, { hash: 'sha384', key: 'rsa' }],
  [-39, { hash: 'sha512', key: 'rsa' }],
  [-7, { hash: 'sha256', key: 'ec', curve: 'prime256v1' }],
  [-35, { hash: 'sha384', key: 'ec', curve: 'secp384r1' }],
  [-36, { hash: 'sha512', key: 'ec', curve: 'secp521r1' }],
])

export function readNotationCose(content: Uint8Array, image: string): NotationCandidate {
  const { encodedHeaders, headers, unprotected, payload, signature } = readSign1(content)
  requireTarget(payload, image)
  const algorithm = algorithms.get(headers.get(header.algorithm))
  if (algorithm === undefined)
    throw new InvalidSignature('the envelope has an algorithm that is not accepted')
  const critical = headers.get(header.critical)
  const x5chain = unprotected.get(header.x5chain)
  return {
    kind: 'notation',
    ...requireEnvelope({
      contentType: headers.get(header.contentType),
      scheme: headers.get('io.cncf.notary.signingScheme'),
      critical: Array.isArray(critical) ? critical : [],
      certificates: (Array.isArray(x5chain) ? x5chain : [x5chain]).map((one) =>
        bytesOf(one, 'a certificate'),
      ),
      parse: parseSignerCertificate,
    }),
    signedMs: timeOf(headers.get('io.cncf.notary.signingTime'), 'the signing time'),
    expiresMs: timeOf(headers.get('io.cncf.notary.expiry'), 'the expiry'),
    verify: async (key) =>
      verifyWith(
        algorithm,
        key,
        encode(['Signature1', encodedHeaders, new Uint8Array(0), payload]),
        signature,
      ),
  }
}

/** Reads the tagged array of protected headers, other headers, payload and signature. */
function readSign1(content: Uint8Array) {
  const { sign1: message } = members(decodeCbor(content, 'the envelope'))
  if (!Array.isArray(message) || message.length !== 4)
    throw new InvalidSignature('the envelope is not a COSE_Sign1 message')
  const [encodedHeaders, unprotected, payload, signature] = message as unknown[]
  const headers = decodeCbor(bytesOf(encodedHeaders, 'the protected header'), 'the protected header')
  if (!(headers instanceof Map) || !(unprotected instanceof Map))
    throw new InvalidSignature('the headers of the envelope are not maps')
  return {
    encodedHeaders: bytesOf(encodedHeaders, 'the protected header'),
    headers: headers as ReadonlyMap<unknown, unknown>,
    unprotected: unprotected as ReadonlyMap<unknown, unknown>,
    payload: bytesOf(payload, 'the payload'),
    signature: bytesOf(signature, 'the signature'),
  }
}

const SIGN1_TAG = 18
const EPOCH_TAG = 1

/** The year 9999. */
const SECONDS_MAX = 253_402_300_799

function decodeCbor(bytes: Uint8Array, what: string): unknown {
  try {
    return decode(bytes, {
      useMaps: true,
      rejectDuplicateMapKeys: true,
      tags: {
        [EPOCH_TAG]: (value): unknown => value(),
        [SIGN1_TAG]: (value) => ({ sign1: value() }),
      },
    })
  } catch (cause) {
    throw new InvalidSignature(`${what} is not CBOR`, { cause })
  }
}

function bytesOf(value: unknown, what: string): Buffer {
  if (!(value instanceof Uint8Array) || value.length > limits.signatureBytesMax)
    throw new InvalidSignature(`${what} is missing`)
  return Buffer.from(value)
}

/** Seconds since 1970, tagged or not. */
function timeOf(seconds: unknown, what: string): number | undefined {
  if (seconds === undefined) return undefined
  if (typeof seconds !== 'number' || Math.abs(seconds) > SECONDS_MAX)
    throw new InvalidSignature(`${what} is not a time`)
  return seconds * 1000
}

function verifyWith(
  { hash, key: type, curve }: Algorithm,
  key: KeyObject,
  signed: Uint8Array,
  signature: Buffer,
) {
  const { asymmetricKeyType, asymmetricKeyDetails } = key
  if (asymmetricKeyType !== type || asymmetricKeyDetails?.namedCurve !== curve) return false
  // A hash has the length of the salt (RFC 8230).
  const options =
    type === 'rsa'
      ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : ({ key, dsaEncoding: 'ieee-p1363' } as const)
  try {
    return verify(hash, signed, options, signature)
  } catch {
    return false
  }
}
