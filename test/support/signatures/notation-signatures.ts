import { constants, type KeyObject, sign } from 'node:crypto'
import { encode, Tagged } from 'cborg'
import type { Issued } from './certificates.ts'

/** Envelopes as Notation makes them. */

const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url')
const PAYLOAD_TYPE = 'application/vnd.cncf.notary.payload.v1+json'

export function notationPayload(image: string): string {
  const targetArtifact = { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: image, size: 1 }
  return JSON.stringify({ targetArtifact })
}

/** Signs with the hash of a key: SHA-256 for P-256 and RSA of 2048 bits. */
function signRaw(bytes: Buffer, key: KeyObject): Buffer {
  return key.asymmetricKeyType === 'rsa'
    ? sign('sha256', bytes, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 })
    : sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' })
}

export interface NotationOptions {
  readonly payload?: string
  /** Headers to add, or to remove with undefined. */
  readonly headers?: Readonly<Record<string, unknown>>
  readonly expiry?: Date
}

/** An envelope in JWS. `chain`: the certificate of the signer first. */
export function notationJws(image: string, chain: readonly Issued[], options: NotationOptions = {}): string {
  const [signer] = chain as [Issued]
  const { payload = notationPayload(image), headers = {}, expiry } = options
  const crit = ['io.cncf.notary.signingScheme', ...(expiry ? ['io.cncf.notary.expiry'] : [])]
  const names = base64url(
    JSON.stringify({
      alg: signer.publicKey.asymmetricKeyType === 'rsa' ? 'PS256' : 'ES256',
      cty: PAYLOAD_TYPE,
      crit,
      'io.cncf.notary.signingScheme': 'notary.x509',
      'io.cncf.notary.signingTime': new Date().toISOString(),
      ...(expiry && { 'io.cncf.notary.expiry': expiry.toISOString() }),
      ...headers,
    }),
  )
  const body = base64url(payload)
  return JSON.stringify({
    payload: body,
    protected: names,
    header: { x5c: chain.map(({ raw }) => raw.toString('base64')) },
    signature: base64url(signRaw(Buffer.from(`${names}.${body}`), signer.privateKey)),
  })
}

/** An envelope in COSE. */
export function notationCose(image: string, chain: readonly Issued[], options: NotationOptions = {}): Buffer {
  const [signer] = chain as [Issued]
  const { payload = notationPayload(image), headers = {}, expiry } = options
  const names = new Map<unknown, unknown>([
    [1, signer.publicKey.asymmetricKeyType === 'rsa' ? -37 : -7],
    [2, ['io.cncf.notary.signingScheme', ...(expiry ? ['io.cncf.notary.expiry'] : [])]],
    [3, PAYLOAD_TYPE],
    ['io.cncf.notary.signingScheme', 'notary.x509'],
    ['io.cncf.notary.signingTime', new Tagged(1, Math.floor(Date.now() / 1000))],
    ...(expiry
      ? [['io.cncf.notary.expiry', new Tagged(1, Math.floor(expiry.getTime() / 1000))] as const]
      : []),
    ...Object.entries(headers),
  ])
  const encoded = encode(names)
  const content = Buffer.from(payload)
  const signed = encode(['Signature1', encoded, new Uint8Array(0), content])
  const message = [
    encoded,
    new Map<unknown, unknown>([[33, chain.map(({ raw }) => raw)]]),
    content,
    signRaw(Buffer.from(signed), signer.privateKey),
  ]
  return Buffer.from(encode(new Tagged(18, message)))
}
