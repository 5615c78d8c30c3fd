import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { ecKey, issueCertificate, publicPem } from '../support/signatures/certificates.ts'
import { cosignLayer, sigstoreBundle, statementOf, testLog } from '../support/signatures/cosign-signatures.ts'
import { createSignedImages, firstSignature } from '../support/signatures/signed-images.ts'

/** Sigstore bundles, as referrers of images. */

const UNSIGNED = 'SIGNATURE_STATE_UNSIGNED'
const UNTRUSTED = 'SIGNATURE_STATE_UNTRUSTED'
const INVALID = 'SIGNATURE_STATE_INVALID'
const VERIFIED = 'SIGNATURE_STATE_VERIFIED'
const EMAIL = 'release@acme.example'
const ISSUER = 'https://accounts.example.com'
const OTHER = `sha256:${'ab'.repeat(32)}`

const root = issueCertificate({ subject: { CN: 'root' }, ca: true })
const log = testLog(ecKey())
const keys = ecKey()
const leafOf = (more: object = {}) =>
  issueCertificate({ issuer: root, email: EMAIL, oidcIssuer: ISSUER, ...more })
const trust = {
  certificate: { authorities: root.pem, identity: EMAIL, issuer: ISSUER, logKeys: [log.publicKey] },
}
type Bundle = ReturnType<typeof sigstoreBundle>

onEveryDatabase('sigstore bundles', (cast, { rowsOf }) => {
  const created = () => createSignedImages(cast())

  for (const [type, pair] of [
    ['P-256', keys],
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['Ed25519', generateKeyPairSync('ed25519')],
  ] as const)
    test(`a bundle with a key of ${type} is verified by that key`, async () => {
      const images = await created()
      const digest = await images.attachBundle(sigstoreBundle(pair, statementOf(images.image.digest)))
      await images.verifier({ publicKey: { key: publicPem(ecKey()) } }, { name: 'other' })
      assert.equal((await images.status()).state, UNTRUSTED)
      const { uid } = await images.verifier({ publicKey: { key: publicPem(pair) } })
      const { state, signatures } = await images.status()
      assert.equal(state, VERIFIED)
      assert.deepEqual(
        [
          signatures[0].digest,
          signatures[0].format,
          signatures[0].tag,
          signatures[0].verifications[0].verifier,
        ],
        [digest, 'SIGNATURE_FORMAT_SIGSTORE_BUNDLE', '', uid],
      )
    })

  test('a bundle with a certificate is verified with the proofs of its log entry', async () => {
    const images = await created()
    await images.verifier(trust)
    await images.attachBundle(sigstoreBundle(leafOf(), statementOf(images.image.digest), { log }))
    const { verifications, state, reason } = await firstSignature(images)
    assert.deepEqual([state, reason], [VERIFIED, ''])
    assert.deepEqual([verifications[0].identity, verifications[0].issuer], [EMAIL, ISSUER])
  })

  test('attestations are no signatures', async () => {
    const images = await created()
    const predicateType = 'https://spdx.dev/Document'
    const statement = statementOf(images.image.digest, { predicateType })
    await images.attachBundle(sigstoreBundle(keys, statement))
    await images.attachBundle(sigstoreBundle(keys, statementOf(OTHER)), {
      'dev.sigstore.bundle.predicateType': predicateType,
    })
    assert.deepEqual((await images.status()).signatures, [])
    assert.equal((await images.status()).state, UNSIGNED)
  })

  test('one of several subjects is enough', async () => {
    const images = await created()
    await images.verifier({ publicKey: { key: publicPem(keys) } })
    const statement = statementOf(images.image.digest, { subjects: [OTHER, images.image.digest] })
    await images.attachBundle(sigstoreBundle(keys, statement))
    assert.equal((await images.status()).state, VERIFIED)
  })

  /** `make` gets the digest of the image. */
  const attacks: readonly [string, (image: string) => object, string, RegExp][] = [
    [
      'a statement of another image',
      () => sigstoreBundle(keys, statementOf(OTHER)),
      INVALID,
      /of another image/,
    ],
    [
      'a statement without subjects',
      (image) => sigstoreBundle(keys, statementOf(image, { subjects: [] })),
      INVALID,
      /names none/,
    ],
    [
      'a payload of another type',
      (image) => sigstoreBundle(keys, statementOf(image), { payloadType: 'application/json' }),
      INVALID,
      /no payload of application\/vnd.in-toto\+json/,
    ],
    [
      'a payload that is not a statement',
      (image) =>
        sigstoreBundle(keys, Buffer.from(JSON.stringify({ subject: [{ digest: { sha256: image } }] }))),
      INVALID,
      /not a statement of in-toto/,
    ],
    [
      'a payload that is changed after it was signed',
      (image) => {
        const bundle = sigstoreBundle(keys, statementOf(OTHER))
        return withEnvelope(bundle, { payload: statementOf(image).toString('base64') })
      },
      UNTRUSTED,
      /signature verification failed/,
    ],
    [
      'no signatures',
      (image) => withEnvelope(sigstoreBundle(keys, statementOf(image)), { signatures: [] }),
      INVALID,
      /invalid|one signature/,
    ],
    [
      'two signatures, of which the second one is valid',
      (image) => {
        const bundle = sigstoreBundle(keys, statementOf(image))
        return withEnvelope(bundle, {
          signatures: [{ sig: 'AAAA', keyid: '' }, ...bundle.dsseEnvelope.signatures],
        })
      },
      INVALID,
      /invalid bundle|one signature/,
    ],
    [
      'a key in place of the certificate',
      (image) => ({
        ...sigstoreBundle(leafOf(), statementOf(image), { log }),
        verificationMaterial: sigstoreBundle(ecKey(), statementOf(image), { log }).verificationMaterial,
      }),
      UNTRUSTED,
      /has no certificate/,
    ],
    [
      'the certificate of another signer',
      (image) => {
        const bundle = sigstoreBundle(ecKey(), statementOf(image), { log })
        const certificate = { rawBytes: leafOf().raw.toString('base64') }
        return {
          ...bundle,
          verificationMaterial: { tlogEntries: bundle.verificationMaterial.tlogEntries, certificate },
        }
      },
      UNTRUSTED,
      /signature verification failed/,
    ],
    [
      'no log entry',
      (image) => sigstoreBundle(leafOf(), statementOf(image)),
      UNTRUSTED,
      /expected 1 timestamps, got 0/,
    ],
    [
      'a log entry of another log',
      (image) => sigstoreBundle(leafOf(), statementOf(image), { log: testLog(ecKey()) }),
      UNTRUSTED,
      /could not be verified/,
    ],
    [
      'a log entry of another bundle',
      (image) => {
        const bundle = sigstoreBundle(leafOf(), statementOf(image), { log })
        return withEntries(
          bundle,
          sigstoreBundle(leafOf(), statementOf(image), { log }).verificationMaterial.tlogEntries,
        )
      },
      UNTRUSTED,
      /signature mismatch/,
    ],
    [
      'a checkpoint that is changed',
      (image) =>
        changeProof(sigstoreBundle(leafOf(), statementOf(image), { log }), (text) =>
          text.replace('\n1\n', '\n2\n'),
        ),
      UNTRUSTED,
      /invalid checkpoint signature/,
    ],
    [
      'a checkpoint of another tree',
      (image) => {
        const other = sigstoreBundle(leafOf(), statementOf(OTHER), { log })
        const text = other.verificationMaterial.tlogEntries[0]?.inclusionProof.checkpoint.envelope ?? ''
        return changeProof(sigstoreBundle(leafOf(), statementOf(image), { log }), () => text)
      },
      UNTRUSTED,
      /mismatch|inclusion|root hash/i,
    ],
    [
      'a log entry twice',
      (image) => {
        const bundle = sigstoreBundle(leafOf(), statementOf(image), { log })
        return withEntries(bundle, [
          ...bundle.verificationMaterial.tlogEntries,
          ...bundle.verificationMaterial.tlogEntries,
        ])
      },
      UNTRUSTED,
      /duplicate/,
    ],
    [
      'many log entries (signatureTimesMax)',
      (image) => {
        const bundle = sigstoreBundle(leafOf(), statementOf(image), { log })
        const [entry] = bundle.verificationMaterial.tlogEntries as [
          Bundle['verificationMaterial']['tlogEntries'][0],
        ]
        return withEntries(bundle, Array(limits.signatureTimesMax + 1).fill(entry))
      },
      INVALID,
      /more than 10 log entries/,
    ],
    [
      'an expired certificate',
      (image) => {
        const day = 86_400_000
        const expired = leafOf({ fromMs: Date.now() - 2 * day, toMs: Date.now() - day })
        return sigstoreBundle(expired, statementOf(image), { log })
      },
      UNTRUSTED,
      /not valid or expired/,
    ],
    [
      'a certificate of another root',
      (image) =>
        sigstoreBundle(
          leafOf({ issuer: issueCertificate({ subject: { CN: 'root' }, ca: true }) }),
          statementOf(image),
          { log },
        ),
      UNTRUSTED,
      /certificate/i,
    ],
    [
      'another identity',
      (image) => sigstoreBundle(leafOf({ email: 'eve@acme.example' }), statementOf(image), { log }),
      UNTRUSTED,
      /does not trust the identity eve@acme.example/,
    ],
    [
      'a signature of a file',
      () => ({
        mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
        verificationMaterial: { publicKey: { hint: '' }, tlogEntries: [] },
        messageSignature: { messageDigest: { algorithm: 'SHA2_256', digest: 'AAAA' }, signature: 'AAAA' },
      }),
      INVALID,
      /signature of a file/,
    ],
    ['a bundle without content', () => ({ mediaType: 'x' }), INVALID, /the bundle is invalid/],
    ['an empty bundle', () => ({}), INVALID, /the bundle is invalid/],
    [
      'a bundle with members of other types',
      () => ({ mediaType: 1, verificationMaterial: [], dsseEnvelope: 'x' }),
      INVALID,
      /the bundle is invalid/,
    ],
    [
      'a huge bundle (signatureBytesMax)',
      () => ({ a: 'x'.repeat(limits.signatureBytesMax) }),
      INVALID,
      /more than/,
    ],
  ]
  for (const [attack, make, state, reason] of rowsOf(attacks))
    test(`not verified: ${attack}`, async () => {
      const images = await created()
      await images.verifier(trust)
      await images.verifier({ publicKey: { key: publicPem(keys) } }, { name: 'key' })
      await images.attachBundle(make(images.image.digest))
      const found = await firstSignature(images)
      assert.match(found.reason, reason)
      assert.deepEqual([found.state, found.of, found.verifications], [state, state, []])
    })

  test('one valid signature among thousands of referrers counts if it is among the verified ones (signatureManifestsMax)', async () => {
    const images = await created()
    await images.verifier({ publicKey: { key: publicPem(keys) } })
    for (let at = 0; at <= limits.signatureManifestsMax; at++) await images.attachBundle({ at })
    const { state, truncated, signatures } = await images.status()
    assert.deepEqual([state, truncated, signatures.length], [INVALID, true, limits.signatureManifestsMax])
    // The tag comes first, so that junk referrers do not displace it.
    await images.cosign([cosignLayer(images.image.digest, keys)])
    assert.equal((await images.status()).state, VERIFIED)
  })
})

function withEnvelope(bundle: Bundle, more: object) {
  return { ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, ...more } }
}

function withEntries(bundle: Bundle, tlogEntries: readonly object[]) {
  return { ...bundle, verificationMaterial: { ...bundle.verificationMaterial, tlogEntries } }
}

function changeProof(bundle: Bundle, change: (envelope: string) => string) {
  return withEntries(
    bundle,
    bundle.verificationMaterial.tlogEntries.map((entry) => {
      const { envelope } = entry.inclusionProof.checkpoint
      return {
        ...entry,
        inclusionProof: { ...entry.inclusionProof, checkpoint: { envelope: change(envelope) } },
      }
    }),
  )
}
