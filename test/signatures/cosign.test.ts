import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { pushImage, testImage } from '../support/registry/registry.ts'
import {
  ecKey,
  type Issued,
  issueCertificate,
  type KeyPair,
  publicPem,
} from '../support/signatures/certificates.ts'
import {
  type CosignLayer,
  cosignLayer,
  logBody,
  payloadOf,
  signBytes,
  testLog,
} from '../support/signatures/cosign-signatures.ts'
import { createSignedImages, firstSignature, type SignedImages } from '../support/signatures/signed-images.ts'

/** Signatures of cosign in the form of simple signing, as they are and as attackers change them. */

const IDENTITY = 'https://github.com/acme/app/.github/workflows/release.yaml@refs/heads/main'
const ISSUER = 'https://token.actions.githubusercontent.com'
const HOUR_MS = 3_600_000
const UNTRUSTED = 'SIGNATURE_STATE_UNTRUSTED'
const INVALID = 'SIGNATURE_STATE_INVALID'
const VERIFIED = 'SIGNATURE_STATE_VERIFIED'

const trustIn = (keys: KeyPair, more: object = {}) => ({ publicKey: { key: publicPem(keys), ...more } })

const root = issueCertificate({ subject: { CN: 'root', O: 'acme' }, ca: true })
const intermediate = issueCertificate({
  subject: { CN: 'intermediate' },
  ca: true,
  pathLength: 0,
  issuer: root,
})
const logKeys = ecKey()
const log = testLog(logKeys)
const shortKey = generateKeyPairSync('rsa', { modulusLength: 1024 })

const leafOf = (more: object = {}) =>
  issueCertificate({ issuer: intermediate, uri: IDENTITY, oidcIssuer: ISSUER, ...more })

const certificateTrust = (more: object = {}) => ({
  certificate: {
    authorities: root.pem + intermediate.pem,
    identity: IDENTITY,
    issuer: ISSUER,
    logKeys: [log.publicKey],
    ...more,
  },
})

onEveryDatabase('signatures of cosign', (cast, { rowsOf }) => {
  const created = () => createSignedImages(cast())

  const keyTypes: readonly [string, () => KeyPair][] = [
    ['P-256', ecKey],
    ['P-384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' })],
    ['RSA', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['Ed25519', () => generateKeyPairSync('ed25519')],
  ]
  for (const [type, generate] of rowsOf(keyTypes))
    test(`a signature with a key of ${type} is verified by that key alone`, async () => {
      const images = await created()
      const [keys, others] = [generate(), generate()]
      const { checkTime, ...unsigned } = await images.status()
      assert.ok(checkTime)
      assert.deepEqual(unsigned, {
        uid: images.repo,
        digest: images.image.digest,
        state: 'SIGNATURE_STATE_UNSIGNED',
        signatures: [],
        truncated: false,
        verifierCount: 0,
      })
      const digest = await images.cosign([cosignLayer(images.image.digest, keys)])
      await images.verifier(trustIn(others), { name: 'others' })
      assert.deepEqual(await firstSignature(images), {
        state: UNTRUSTED,
        of: UNTRUSTED,
        reason: 'others: signature verification failed',
        verifications: [],
      })
      const { uid } = await images.verifier(trustIn(keys))
      const { state, signatures, verifierCount } = await images.status('latest')
      assert.deepEqual([state, verifierCount], [VERIFIED, 2])
      const [{ tag, format, verifications, ...rest }] = signatures
      assert.deepEqual(rest, {
        digest,
        state: VERIFIED,
        reason: '',
        dockerReference: 'registry.example.com/app',
      })
      assert.deepEqual(
        [tag, format],
        [`${images.image.digest.replace(':', '-')}.sig`, 'SIGNATURE_FORMAT_COSIGN'],
      )
      assert.deepEqual(verifications, [{ verifier: uid, verifierName: 'release', identity: '', issuer: '' }])
    })

  test('a certificate is verified with its identity, issuer and the time of the log entry', async () => {
    const images = await created()
    const atMs = Date.UTC(2024, 0, 2, 3, 4, 5)
    const then = testLog(logKeys, { atMs })
    // Certificates of short life have expired when they are verified.
    const leaf = leafOf({ fromMs: atMs - 60_000, toMs: atMs + 60_000 })
    const oldRoot = issueCertificate({ subject: { CN: 'old' }, ca: true, keys: root, fromMs: atMs - HOUR_MS })
    const old = issueCertificate({
      uri: IDENTITY,
      oidcIssuer: ISSUER,
      issuer: oldRoot,
      fromMs: atMs - 60_000,
      toMs: atMs + 60_000,
    })
    await images.cosign([
      cosignLayer(images.image.digest, old, { log: then }),
      cosignLayer(images.image.digest, leaf, { log: then }),
    ])
    const { uid } = await images.verifier(certificateTrust({ authorities: oldRoot.pem }))
    const { signatures } = await images.status()
    assert.deepEqual(signatures[0].verifications, [
      {
        verifier: uid,
        verifierName: 'release',
        identity: IDENTITY,
        issuer: ISSUER,
        signTime: '2024-01-02T03:04:05.000Z',
      },
    ])
    assert.equal(signatures[1].state, UNTRUSTED)
  })

  test('patterns match whole identities and issuers; an email address is an identity', async () => {
    const images = await created()
    await images.cosign([
      cosignLayer(images.image.digest, leafOf(), { log }),
      cosignLayer(images.image.digest, leafOf({ uri: undefined, email: 'ada@acme.example' }), { log }),
    ])
    const patterns: readonly [object, readonly boolean[]][] = [
      [{ identity: undefined, identityPattern: 'https://github\\.com/acme/.*' }, [true, false]],
      [{ identity: undefined, identityPattern: 'github\\.com/acme' }, [false, false]],
      [{ identity: 'ada@acme.example' }, [false, true]],
      [{ issuer: undefined, issuerPattern: 'https://.*' }, [true, false]],
      [{ issuer: undefined, issuerPattern: 'token\\.actions' }, [false, false]],
    ]
    for (const [more, expected] of rowsOf(patterns)) {
      const { uid } = await images.verifier(certificateTrust(more))
      const { signatures } = await images.status()
      assert.deepEqual(
        signatures.map(({ state }: { state: string }) => state === VERIFIED),
        expected,
        JSON.stringify(more),
      )
      await images.api.delete(`registry/signatureVerifiers/${uid}`)
    }
  })

  test('verifiers apply to repos below their group, and results change with verifiers, tags and signatures', async () => {
    const images = await created()
    const folder = await images.api.create(`iam/groups/${images.root}`, { name: 'folder' })
    const keys = ecKey()
    await images.verifier(trustIn(keys), { group: folder.uid })
    const digest = await images.cosign([cosignLayer(images.image.digest, keys)])
    assert.equal((await images.status()).state, UNTRUSTED)
    const { uid } = await images.verifier(trustIn(keys))
    assert.equal((await images.status()).state, VERIFIED)
    const path = `registry/signatureVerifiers/${uid}`
    await images.api.patch(path, trustIn(ecKey()))
    assert.equal((await images.status()).state, UNTRUSTED)
    await images.api.patch(path, trustIn(keys))
    assert.equal((await images.status()).state, VERIFIED)
    await images.owner.request('DELETE', `${images.name}/manifests/${digest}`)
    assert.equal((await images.status()).state, 'SIGNATURE_STATE_UNSIGNED')
  })

  test('a verified result is stored, and deleted with its image', async () => {
    const images = await created()
    const keys = ecKey()
    await images.verifier(trustIn(keys))
    await images.cosign([cosignLayer(images.image.digest, keys)])
    const first = await images.status()
    const { db } = cast().berth.berth.installation.store
    const stored = () =>
      db.kysely.selectFrom('image_signatures').select('digest').where('repo', '=', images.repo).execute()
    assert.deepEqual(await stored(), [{ digest: images.image.digest }])
    assert.deepEqual(await images.status(), first)
    const reply = await images.owner.request('DELETE', `${images.name}/manifests/${images.image.digest}`)
    assert.equal(reply.status, 202)
    assert.deepEqual(await stored(), [])
  })

  test('signatures beyond imageSignaturesMax are reported as truncated', async () => {
    const images = await created()
    const keys = ecKey()
    await images.verifier(trustIn(keys))
    const layers = Array.from({ length: limits.imageSignaturesMax + 1 }, (_, at) => {
      const payload = payloadOf(images.image.digest, { reference: `r${at}` })
      return cosignLayer(images.image.digest, keys, { payload })
    })
    await images.cosign(layers.slice(1))
    const { truncated, signatures } = await images.status()
    assert.deepEqual([truncated, signatures.length], [false, limits.imageSignaturesMax])
    await images.cosign(layers)
    const more = await images.status()
    assert.deepEqual([more.truncated, more.signatures.length], [true, limits.imageSignaturesMax])
  })

  /** Each attack attaches what no verifier trusts: the state, and a part of the reason. */
  type Attack = (
    images: SignedImages,
    keys: KeyPair,
  ) => Promise<readonly CosignLayer[]> | readonly CosignLayer[]
  const withAnnotations = (layer: CosignLayer, more: object): CosignLayer => ({
    ...layer,
    annotations: { ...layer.annotations, ...more } as CosignLayer['annotations'],
  })
  const flip = (text = '') => {
    const bytes = Buffer.from(text, 'base64')
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    return bytes.toString('base64')
  }
  const signatureOf = ({ annotations }: CosignLayer) => annotations['dev.cosignproject.cosign/signature']

  const ofKeys: readonly [string, Attack, string, RegExp][] = [
    [
      'a signature of another image',
      async ({ owner, name }, keys) => [
        cosignLayer((await pushImage(owner, name, testImage())).digest, keys),
      ],
      INVALID,
      /of another image: sha256:/,
    ],
    [
      'a payload without a digest',
      ({ image }, keys) => [cosignLayer(image.digest, keys, { payload: payloadOf('') })],
      INVALID,
      /of another image/,
    ],
    [
      'a payload of another type',
      ({ image }, keys) => [
        cosignLayer(image.digest, keys, {
          payload: payloadOf(image.digest, { type: 'atomic container signature' }),
        }),
      ],
      INVALID,
      /not of the type/,
    ],
    [
      'a payload that is changed after it was signed',
      ({ image }, keys) => {
        const { annotations } = cosignLayer(image.digest, keys)
        return [{ payload: payloadOf(image.digest, { reference: 'evil' }), annotations }]
      },
      UNTRUSTED,
      /signature verification failed/,
    ],
    [
      'a signature with one bit changed',
      ({ image }, keys) => {
        const layer = cosignLayer(image.digest, keys)
        return [withAnnotations(layer, { 'dev.cosignproject.cosign/signature': flip(signatureOf(layer)) })]
      },
      UNTRUSTED,
      /signature verification failed/,
    ],
    [
      'an empty signature',
      ({ image }, keys) => [
        withAnnotations(cosignLayer(image.digest, keys), { 'dev.cosignproject.cosign/signature': '' }),
      ],
      INVALID,
      /the signature is missing/,
    ],
    [
      'a signature that is not base64',
      ({ image }, keys) => [
        withAnnotations(cosignLayer(image.digest, keys), { 'dev.cosignproject.cosign/signature': '§§§' }),
      ],
      INVALID,
      /not base64/,
    ],
    [
      'a signature without an annotation',
      ({ image }, keys) => [{ ...cosignLayer(image.digest, keys), annotations: {} }],
      INVALID,
      /the signature is missing/,
    ],
    [
      'a signature of the digest instead of the payload',
      ({ image }, keys) => {
        const signature = signBytes(Buffer.from(image.digest), keys.privateKey).toString('base64')
        return [
          withAnnotations(cosignLayer(image.digest, keys), {
            'dev.cosignproject.cosign/signature': signature,
          }),
        ]
      },
      UNTRUSTED,
      /signature verification failed/,
    ],
    [
      'a signature of an unknown key',
      ({ image }) => [cosignLayer(image.digest, ecKey())],
      UNTRUSTED,
      /signature verification failed/,
    ],
    [
      'a certificate of the signer alone, where a key is trusted',
      ({ image }) => [cosignLayer(image.digest, leafOf(), { log })],
      UNTRUSTED,
      /signature verification failed/,
    ],
    [
      'a payload that is not JSON',
      ({ image }, keys) => [cosignLayer(image.digest, keys, { payload: Buffer.from('{') })],
      INVALID,
      /not a JSON object/,
    ],
    [
      'a payload that is an array',
      ({ image }, keys) => [cosignLayer(image.digest, keys, { payload: Buffer.from(`["${image.digest}"]`) })],
      INVALID,
      /not a JSON object/,
    ],
    [
      'a payload of many levels (signatureJsonDepthMax)',
      ({ image }, keys) => [
        cosignLayer(image.digest, keys, {
          payload: Buffer.from(
            '{"a":'.repeat(limits.signatureJsonDepthMax + 1) +
              '1' +
              '}'.repeat(limits.signatureJsonDepthMax + 1),
          ),
        }),
      ],
      INVALID,
      /levels/,
    ],
    [
      'a payload of many values (signatureJsonElementsMax)',
      ({ image }, keys) => [
        cosignLayer(image.digest, keys, {
          payload: Buffer.from(JSON.stringify({ a: Array(limits.signatureJsonElementsMax).fill(1) })),
        }),
      ],
      INVALID,
      /values/,
    ],
    [
      'a huge payload (signatureBytesMax)',
      ({ image }, keys) => [
        cosignLayer(image.digest, keys, {
          payload: Buffer.concat([payloadOf(image.digest), Buffer.alloc(limits.signatureBytesMax, ' ')]),
        }),
      ],
      INVALID,
      /more than 262144 bytes/,
    ],
    [
      'a log entry that is not JSON',
      ({ image }, keys) => [
        withAnnotations(cosignLayer(image.digest, keys), { 'dev.sigstore.cosign/bundle': 'x' }),
      ],
      INVALID,
      /the log entry is not a JSON object/,
    ],
    [
      'a long annotation (signatureAnnotationCharsMax)',
      ({ image }, keys) => [
        withAnnotations(cosignLayer(image.digest, keys), {
          'dev.cosignproject.cosign/signature': 'A'.repeat(limits.signatureAnnotationCharsMax + 1),
        }),
      ],
      INVALID,
      /characters/,
    ],
  ]
  for (const [attack, attach, state, reason] of rowsOf(ofKeys))
    test(`not verified by a key: ${attack}`, async () => {
      const images = await created()
      const keys = ecKey()
      await images.verifier(trustIn(keys))
      await images.cosign(await attach(images, keys))
      const found = await firstSignature(images)
      assert.deepEqual([found.state, found.of, found.verifications], [state, state, []], found.reason)
      assert.match(found.reason, reason)
    })

  const day = 24 * HOUR_MS
  const otherRoot = issueCertificate({ subject: { CN: 'root', O: 'acme' }, ca: true })
  const signed = ({ image }: SignedImages, leaf: Issued, more: object = { log }) => [
    cosignLayer(image.digest, leaf, more),
  ]
  const replaceEntry = (
    layer: CosignLayer,
    change: (entry: { Payload: Record<string, unknown> }) => object,
  ) => {
    const entry = JSON.parse(layer.annotations['dev.sigstore.cosign/bundle'] ?? '')
    return withAnnotations(layer, { 'dev.sigstore.cosign/bundle': JSON.stringify(change(entry)) })
  }
  const ofCertificates: readonly [
    string,
    (images: SignedImages) => readonly CosignLayer[],
    RegExp,
    string?,
  ][] = [
    [
      'no log entry and no timestamp',
      (images) => signed(images, leafOf(), {}),
      /expected 1 timestamps, got 0/,
    ],
    [
      'a certificate that was not valid yet',
      (images) => signed(images, leafOf({ fromMs: Date.now() + day, toMs: Date.now() + 2 * day })),
      /not valid or expired/,
    ],
    [
      'an expired certificate',
      (images) => signed(images, leafOf({ fromMs: Date.now() - 2 * day, toMs: Date.now() - day })),
      /not valid or expired/,
    ],
    [
      'a certificate of another authority with the same name',
      (images) => signed(images, leafOf({ issuer: otherRoot })),
      /certificate/i,
    ],
    [
      'a self-signed certificate',
      (images) => signed(images, leafOf({ issuer: undefined })),
      /self-signed/,
      INVALID,
    ],
    [
      'another identity',
      (images) => signed(images, leafOf({ uri: `${IDENTITY}x` })),
      /does not trust the identity/,
    ],
    ['no identity', (images) => signed(images, leafOf({ uri: undefined })), /does not trust the identity/],
    [
      'another issuer',
      (images) => signed(images, leafOf({ oidcIssuer: `${ISSUER}.evil` })),
      /does not trust the issuer/,
    ],
    ['no issuer', (images) => signed(images, leafOf({ oidcIssuer: undefined })), /does not trust the issuer/],
    [
      'a certificate that is issued by the certificate of a signer',
      (images) => signed(images, leafOf({ issuer: leafOf() })),
      /certificate/i,
    ],
    [
      'the entry of another log',
      (images) => signed(images, leafOf(), { log: testLog(ecKey()) }),
      /inclusion promise could not be verified/,
    ],
    [
      'a log entry of another signature',
      (images) => {
        const leaf = leafOf()
        const layer = cosignLayer(images.image.digest, leaf, { log })
        const body = logBody(layer.payload, Buffer.from('other'), leaf.pem)
        return [withAnnotations(layer, { 'dev.sigstore.cosign/bundle': log.annotation(body) })]
      },
      /signature mismatch/,
    ],
    [
      'a log entry of another payload',
      (images) => {
        const leaf = leafOf()
        const layer = cosignLayer(images.image.digest, leaf, { log })
        const signature = Buffer.from(signatureOf(layer) ?? '', 'base64')
        const body = logBody(Buffer.from('other'), signature, leaf.pem)
        return [withAnnotations(layer, { 'dev.sigstore.cosign/bundle': log.annotation(body) })]
      },
      /digest mismatch/,
    ],
    [
      'a log entry with a changed time',
      (images) => [
        replaceEntry(cosignLayer(images.image.digest, leafOf(), { log }), (entry) => ({
          ...entry,
          Payload: { ...entry.Payload, integratedTime: Number(entry.Payload['integratedTime']) + 1 },
        })),
      ],
      /inclusion promise could not be verified/,
    ],
    [
      'a log entry without a promise',
      (images) => [
        replaceEntry(cosignLayer(images.image.digest, leafOf(), { log }), ({ Payload }) => ({ Payload })),
      ],
      /signed entry timestamp is missing/,
      INVALID,
    ],
    [
      'a certificate that is not one',
      (images) => [
        withAnnotations(cosignLayer(images.image.digest, leafOf(), { log }), {
          'dev.sigstore.cosign/certificate': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
        }),
      ],
      /a certificate cannot be read/,
      INVALID,
    ],
    [
      'a certificate of many levels',
      (images) => [
        withAnnotations(cosignLayer(images.image.digest, leafOf(), { log }), {
          'dev.sigstore.cosign/certificate': `-----BEGIN CERTIFICATE-----\n${Buffer.alloc(9000, Buffer.from('3080', 'hex')).toString('base64')}\n-----END CERTIFICATE-----\n`,
        }),
      ],
      /a certificate cannot be read/,
      INVALID,
    ],
    [
      'a certificate with a key of a length that is not accepted',
      (images) => [
        withAnnotations(cosignLayer(images.image.digest, leafOf(), { log }), {
          'dev.sigstore.cosign/certificate': leafOf({ keys: shortKey }).pem,
        }),
      ],
      /must be an RSA key of 2048 to 8192 bits/,
      INVALID,
    ],
    [
      'the certificate of another signer',
      (images) => [
        withAnnotations(cosignLayer(images.image.digest, ecKey(), { log }), {
          'dev.sigstore.cosign/certificate': leafOf().pem,
        }),
      ],
      /signature verification failed/,
    ],
    [
      'a key without a certificate',
      (images) => [cosignLayer(images.image.digest, ecKey(), { log })],
      /has no certificate/,
    ],
    [
      'a timestamp that is not one',
      (images) => [
        withAnnotations(cosignLayer(images.image.digest, leafOf(), { log }), {
          'dev.sigstore.cosign/rfc3161timestamp': JSON.stringify({ SignedRFC3161Timestamp: 'AAAA' }),
        }),
      ],
      /cannot be read/,
      INVALID,
    ],
  ]
  for (const [attack, attach, reason, state = UNTRUSTED] of rowsOf(ofCertificates))
    test(`not verified by a certificate authority: ${attack}`, async () => {
      const images = await created()
      await images.verifier(certificateTrust())
      await images.cosign(attach(images))
      const found = await firstSignature(images)
      assert.match(found.reason, reason)
      assert.deepEqual([found.state, found.of, found.verifications], [state, state, []])
    })

  test('a certificate log key requires a timestamp of that log in the certificate', async () => {
    const images = await created()
    await images.cosign([cosignLayer(images.image.digest, leafOf(), { log })])
    await images.verifier(certificateTrust({ certificateLogKeys: [publicPem(ecKey())] }))
    assert.match((await firstSignature(images)).reason, /expected 1 SCTs, got 0/)
  })

  test('a log key of a public key requires a log entry', async () => {
    const images = await created()
    const keys = ecKey()
    await images.verifier(trustIn(keys, { logKeys: [log.publicKey] }))
    await images.cosign([cosignLayer(images.image.digest, keys)])
    assert.match((await firstSignature(images)).reason, /expected 1 tlog entries, got 0/)
    await images.cosign([cosignLayer(images.image.digest, keys, { log })])
    assert.equal((await images.status()).state, VERIFIED)
  })
})
