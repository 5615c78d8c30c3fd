import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import {
  CODE_SIGNING,
  type Issued,
  issueCertificate,
  SERVER_AUTH,
} from '../support/signatures/certificates.ts'
import {
  type NotationOptions,
  notationCose,
  notationJws,
  notationPayload,
} from '../support/signatures/notation-signatures.ts'
import { createSignedImages, firstSignature } from '../support/signatures/signed-images.ts'

/** Signatures of Notation, in both encodings of their envelopes. */

const UNTRUSTED = 'SIGNATURE_STATE_UNTRUSTED'
const INVALID = 'SIGNATURE_STATE_INVALID'
const VERIFIED = 'SIGNATURE_STATE_VERIFIED'
const DAY_MS = 86_400_000
const OTHER = `sha256:${'ab'.repeat(32)}`
const subject = { C: 'US', ST: 'WA', O: 'acme', CN: 'signer' }

const root = issueCertificate({ subject: { CN: 'root' }, ca: true })
const intermediate = issueCertificate({ subject: { CN: 'intermediate' }, ca: true, issuer: root })
const leafOf = (more: object = {}) =>
  issueCertificate({ subject, issuer: intermediate, purposes: [CODE_SIGNING], ...more })
const chainOf = (more: object = {}): readonly Issued[] => [leafOf(more), intermediate, root]
const trust = (
  identities: readonly string[] = ['x509.subject: C=US, ST=WA, O=acme'],
  authorities = root.pem,
) => ({
  notation: { authorities, identities },
})

const encodings: readonly [
  string,
  string,
  (image: string, chain: readonly Issued[], more?: NotationOptions) => Uint8Array | string,
][] = [
  ['JWS', 'application/jose+json', notationJws],
  ['COSE', 'application/cose', notationCose],
]

for (const [encoding, mediaType, sign] of encodings)
  onEveryDatabase(`signatures of Notation in ${encoding}`, (cast, { rowsOf }) => {
    const created = () => createSignedImages(cast())

    for (const [type, keys] of [
      ['P-256', undefined],
      ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ] as const)
      test(`a signature with a key of ${type} is verified by a root, an intermediate or the certificate itself`, async () => {
        const images = await created()
        const chain = chainOf(keys === undefined ? {} : { keys })
        await images.attachNotation(sign(images.image.digest, chain), mediaType)
        for (const { pem } of chain) {
          const { uid } = await images.verifier(trust(['*'], pem))
          const { state, reason, verifications } = await firstSignature(images)
          assert.deepEqual([state, reason], [VERIFIED, ''])
          const [{ verifier, identity, issuer, signTime }] = verifications
          assert.deepEqual([verifier, issuer], [uid, ''])
          assert.match(identity, /C=US, ST=WA, O=acme, CN=signer/)
          assert.ok(signTime)
          await images.api.delete(`registry/signatureVerifiers/${uid}`)
        }
      })

    test('identities are parts of subjects', async () => {
      const images = await created()
      await images.attachNotation(sign(images.image.digest, chainOf()), mediaType)
      const cases: readonly [string, boolean][] = [
        ['x509.subject: C=US, ST=WA, O=acme', true],
        ['x509.subject:O=acme,S=WA,C=US', true],
        ['x509.subject: C=US, ST=WA, O=acme, CN=signer', true],
        ['x509.subject: C=US, ST=WA, O=acm', false],
        ['x509.subject: C=US, ST=WA, O=Acme', false],
        ['x509.subject: C=US, ST=WA, O=acme, OU=release', false],
        ['x509.subject: C=US, ST=WA, O=acme\\, inc', false],
      ]
      for (const [identity, isTrusted] of cases) {
        const { uid } = await images.verifier(trust([identity]))
        const { state, reason } = await firstSignature(images)
        assert.equal(state, isTrusted ? VERIFIED : UNTRUSTED, identity)
        if (!isTrusted) assert.match(reason, /does not trust the identity/)
        await images.api.delete(`registry/signatureVerifiers/${uid}`)
      }
    })

    test('a signature that expires is verified until then', async () => {
      const images = await created()
      await images.verifier(trust())
      const expiry = new Date(Math.ceil(Date.now() / 1000) * 1000 + DAY_MS)
      await images.attachNotation(sign(images.image.digest, chainOf(), { expiry }), mediaType)
      assert.equal((await images.status()).state, VERIFIED)
      const { db } = cast().berth.berth.installation.store
      const rows = await db.kysely
        .selectFrom('image_signatures')
        .select('until_ms')
        .where('repo', '=', images.repo)
        .execute()
      // The certificates end before the signature.
      assert.ok(
        rows.length === 1 &&
          Number(rows[0]?.until_ms) > Date.now() &&
          Number(rows[0]?.until_ms) < expiry.getTime(),
      )
    })

    type Attack = (image: string) => Uint8Array | string
    const attacks: readonly [string, Attack, string, RegExp][] = [
      ['a payload of another image', () => sign(OTHER, chainOf()), INVALID, /of another image/],
      [
        'a payload without a target',
        (image) => sign(image, chainOf(), { payload: '{}' }),
        INVALID,
        /names none/,
      ],
      [
        'a payload that is not JSON',
        (image) => sign(image, chainOf(), { payload: image }),
        INVALID,
        /not a JSON object/,
      ],
      [
        'a certificate that is not in the trust store',
        (image) => {
          const other = issueCertificate({ subject: { CN: 'root' }, ca: true })
          return sign(image, [leafOf({ issuer: other }), other])
        },
        UNTRUSTED,
        /does not trust a certificate/,
      ],
      [
        'the root of the trust store beside a certificate that it did not issue',
        (image) =>
          sign(image, [leafOf({ issuer: issueCertificate({ subject: { CN: 'root' }, ca: true }) }), root]),
        UNTRUSTED,
        /not issued by the next one/,
      ],
      [
        'a certificate that is issued by the certificate of a signer',
        (image) => sign(image, [leafOf({ issuer: leafOf() }), leafOf(), intermediate, root]),
        UNTRUSTED,
        /not a certificate authority|not issued/,
      ],
      [
        'a path that is longer than its authority permits',
        (image) => {
          const short = issueCertificate({ subject: { CN: 'short' }, ca: true, pathLength: 0, issuer: root })
          const below = issueCertificate({ subject: { CN: 'below' }, ca: true, issuer: short })
          return sign(image, [leafOf({ issuer: below }), below, short, root])
        },
        UNTRUSTED,
        /path length/,
      ],
      [
        'an expired certificate',
        (image) => sign(image, chainOf({ fromMs: Date.now() - 2 * DAY_MS, toMs: Date.now() - DAY_MS })),
        UNTRUSTED,
        /has expired/,
      ],
      [
        'a certificate that is not valid yet',
        (image) => sign(image, chainOf({ fromMs: Date.now() + DAY_MS, toMs: Date.now() + 2 * DAY_MS })),
        UNTRUSTED,
        /not valid yet/,
      ],
      [
        'a signature that has expired',
        (image) => sign(image, chainOf(), { expiry: new Date(Date.now() - DAY_MS) }),
        UNTRUSTED,
        /the signature has expired/,
      ],
      [
        'another subject',
        (image) => sign(image, chainOf({ subject: { C: 'US', ST: 'WA', O: 'evil' } })),
        UNTRUSTED,
        /identity/,
      ],
      [
        'a subject in one attribute',
        (image) => sign(image, chainOf({ subject: { CN: 'C=US\nST=WA\nO=acme' } })),
        UNTRUSTED,
        /identity/,
      ],
      [
        'a certificate for servers',
        (image) => sign(image, chainOf({ purposes: [SERVER_AUTH] })),
        UNTRUSTED,
        /code signing/,
      ],
      [
        'a certificate without key usage',
        (image) => sign(image, chainOf({ usage: false })),
        UNTRUSTED,
        /digital signatures/,
      ],
      [
        'the certificate of an authority',
        (image) => sign(image, [intermediate, root]),
        UNTRUSTED,
        /certificate authority/,
      ],
      [
        'a signature by another key',
        (image) => sign(image, [{ ...leafOf(), privateKey: leafOf().privateKey }, intermediate, root]),
        UNTRUSTED,
        /signature verification failed/,
      ],
      [
        'another signing scheme',
        (image) =>
          sign(image, chainOf(), {
            headers: { 'io.cncf.notary.signingScheme': 'notary.x509.signingAuthority' },
          }),
        INVALID,
        /signing scheme must be/,
      ],
      ['no certificates', (image) => withoutCertificates(encoding, sign, image), INVALID, /certificate/],
      [
        'many certificates (signatureCertificatesMax)',
        (image) => sign(image, [leafOf(), ...Array(limits.signatureCertificatesMax).fill(root)]),
        INVALID,
        /more than 10 certificates/,
      ],
      ['an envelope that cannot be read', () => '\u00ff\u00fe', INVALID, /not CBOR|not a JSON object/],
      [
        'an envelope of many levels',
        () => (encoding === 'JWS' ? '['.repeat(100_000) : Buffer.alloc(200_000, 0x81)),
        INVALID,
        /not/,
      ],
      [
        'a huge envelope (signatureBytesMax)',
        (image) =>
          sign(image, chainOf(), {
            payload: `${notationPayload(image)}${' '.repeat(limits.signatureBytesMax)}`,
          }),
        INVALID,
        /more than/,
      ],
    ]
    for (const [attack, make, state, reason] of rowsOf(attacks))
      test(`not verified: ${attack}`, async () => {
        const images = await created()
        await images.verifier(trust())
        await images.attachNotation(make(images.image.digest), mediaType)
        const found = await firstSignature(images)
        assert.match(found.reason, reason)
        assert.deepEqual([found.state, found.of, found.verifications], [state, state, []])
      })
  })

/** Names of headers of JWS that the signer may not choose. */
const headers: readonly [string, Readonly<Record<string, unknown>>, string, RegExp][] = [
  [
    'an unknown critical header',
    { crit: ['io.cncf.notary.signingScheme', 'x'], x: 1 },
    INVALID,
    /requires x/,
  ],
  ['a signing scheme that is not critical', { crit: ['io.cncf.notary.expiry'] }, INVALID, /does not protect/],
  ['no critical headers', { crit: undefined }, INVALID, /does not protect/],
  ['another content type', { cty: 'application/json' }, INVALID, /no payload of/],
  ['no algorithm', { alg: 'none' }, UNTRUSTED, /signature verification failed/],
  ['a key of HMAC', { alg: 'HS256' }, UNTRUSTED, /signature verification failed/],
  ['the algorithm of another key', { alg: 'PS256' }, UNTRUSTED, /signature verification failed/],
  ['a time that is not one', { 'io.cncf.notary.signingTime': 'yesterday' }, INVALID, /not a time/],
]

onEveryDatabase('headers of Notation in JWS', (cast, { rowsOf }) => {
  for (const [attack, more, state, reason] of rowsOf(headers))
    test(`not verified: ${attack}`, async () => {
      const images = await createSignedImages(cast())
      await images.verifier(trust())
      await images.attachNotation(notationJws(images.image.digest, chainOf(), { headers: more }))
      const found = await firstSignature(images)
      assert.match(found.reason, reason)
      assert.deepEqual([found.state, found.verifications], [state, []])
    })
})

function withoutCertificates(encoding: string, sign: (typeof encodings)[0][2], image: string) {
  const envelope = sign(image, chainOf())
  if (encoding === 'JWS') return JSON.stringify({ ...JSON.parse(String(envelope)), header: {} })
  // The number of the header with the certificates: 33, written as 0x18 0x21.
  const bytes = Buffer.from(envelope as Uint8Array)
  bytes[bytes.indexOf(Buffer.from([0xa1, 0x18, 0x21])) + 2] = 0x22
  return bytes
}
