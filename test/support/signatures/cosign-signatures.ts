import { createHash, type KeyObject, sign } from 'node:crypto'
import { type Issued, type KeyPair, publicPem } from './certificates.ts'

/** Signatures as cosign makes them, with and without an entry of a transparency log. */

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest()
const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64')

/** Signs like cosign: with SHA-256, or the message itself with Ed25519. */
export function signBytes(bytes: Buffer, key: KeyObject): Buffer {
  return sign(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', bytes, key)
}

export function payloadOf(
  image: string,
  { reference = 'registry.example.com/app', type = PAYLOAD_TYPE } = {},
): Buffer {
  const critical = {
    identity: { 'docker-reference': reference },
    image: { 'docker-manifest-digest': image },
    type,
  }
  return Buffer.from(JSON.stringify({ critical, optional: null }))
}

const PAYLOAD_TYPE = 'cosign container image signature'

/** A transparency log. Entries are of the time `atMs`. */
export function testLog(keys: KeyPair, { atMs = Date.now() } = {}) {
  const id = sha256(keys.publicKey.export({ type: 'spki', format: 'der' }))
  const integratedTime = Math.floor(atMs / 1000)
  const promise = (body: string) => {
    // RFC 8785: the members in their order.
    const signed = JSON.stringify({ body, integratedTime, logID: id.toString('hex'), logIndex: 7 })
    return base64(sign('sha256', Buffer.from(signed), keys.privateKey))
  }
  /** Of a log with this entry alone. */
  const proof = (body: Buffer) => {
    const root = base64(sha256(Buffer.concat([Buffer.from([0]), body])))
    const note = `log.example.com\n1\n${root}\n`
    const hint = base64(
      Buffer.concat([id.subarray(0, 4), sign('sha256', Buffer.from(note), keys.privateKey)]),
    )
    const envelope = `${note}\n\u2014 log.example.com ${hint}\n`
    return { logIndex: '0', rootHash: root, treeSize: '1', hashes: [], checkpoint: { envelope } }
  }
  return {
    publicKey: publicPem(keys),
    /** As an annotation of cosign. */
    annotation(body: string) {
      const Payload = { body, integratedTime, logIndex: 7, logID: id.toString('hex') }
      return JSON.stringify({ SignedEntryTimestamp: promise(body), Payload })
    },
    /** As an entry in a bundle. */
    entry(body: string, kind: string) {
      return {
        logIndex: '7',
        logId: { keyId: base64(id) },
        kindVersion: { kind, version: '0.0.1' },
        integratedTime: String(integratedTime),
        inclusionPromise: { signedEntryTimestamp: promise(body) },
        inclusionProof: proof(Buffer.from(body, 'base64')),
        canonicalizedBody: body,
      }
    },
  }
}

export type TestLog = ReturnType<typeof testLog>

/** The body of an entry of the type hashedrekord. */
export function logBody(payload: Buffer, signature: Buffer, signer = ''): string {
  const data = { hash: { algorithm: 'sha256', value: sha256(payload).toString('hex') } }
  const spec = { data, signature: { content: base64(signature), publicKey: { content: base64(signer) } } }
  return base64(JSON.stringify({ apiVersion: '0.0.1', kind: 'hashedrekord', spec }))
}

export interface CosignLayer {
  readonly payload: Buffer
  readonly annotations: Readonly<Record<string, string>>
}

/** A layer of simple signing. `signer`: with a certificate, as without a key. */
export function cosignLayer(
  image: string,
  signer: KeyPair | Issued,
  { payload = payloadOf(image), log }: { payload?: Buffer; log?: TestLog } = {},
): CosignLayer {
  const signature = signBytes(payload, signer.privateKey)
  const certificate = 'pem' in signer ? signer.pem : undefined
  return {
    payload,
    annotations: {
      'dev.cosignproject.cosign/signature': base64(signature),
      ...(certificate !== undefined && { 'dev.sigstore.cosign/certificate': certificate }),
      ...(log && { 'dev.sigstore.cosign/bundle': log.annotation(logBody(payload, signature, certificate)) }),
    },
  }
}

const SIGN_PREDICATE = 'https://sigstore.dev/cosign/sign/v1'
export const BUNDLE_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json'
const IN_TOTO = 'application/vnd.in-toto+json'

export function statementOf(
  image: string,
  { predicateType = SIGN_PREDICATE, subjects = [image] } = {},
): Buffer {
  const subject = subjects.map((digest) => ({ name: '', digest: { sha256: digest.slice('sha256:'.length) } }))
  return Buffer.from(
    JSON.stringify({ _type: 'https://in-toto.io/Statement/v1', subject, predicateType, predicate: {} }),
  )
}

/** A sigstore bundle with an in-toto statement. */
export function sigstoreBundle(
  signer: KeyPair | Issued,
  payload: Buffer,
  { log, payloadType = IN_TOTO }: { log?: TestLog | undefined; payloadType?: string } = {},
) {
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `),
    payload,
  ])
  const signature = signBytes(signed, signer.privateKey)
  const body = base64(
    JSON.stringify({
      apiVersion: '0.0.1',
      kind: 'dsse',
      spec: {
        payloadHash: { algorithm: 'sha256', value: sha256(payload).toString('hex') },
        signatures: [{ signature: base64(signature), verifier: '' }],
      },
    }),
  )
  return {
    mediaType: BUNDLE_TYPE,
    verificationMaterial: {
      ...('raw' in signer
        ? { certificate: { rawBytes: base64(signer.raw) } }
        : { publicKey: { hint: base64(sha256(signer.publicKey.export({ type: 'spki', format: 'der' }))) } }),
      tlogEntries: log === undefined ? [] : [log.entry(body, 'dsse')],
      timestampVerificationData: { rfc3161Timestamps: [] as { signedTimestamp: string }[] },
    },
    dsseEnvelope: {
      payload: base64(payload),
      payloadType,
      signatures: [{ sig: base64(signature), keyid: '' }],
    },
  }
}
