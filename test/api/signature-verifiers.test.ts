import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import {
  alreadyExistsError,
  assertError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { ecKey, issueCertificate, publicPem } from '../support/signatures/certificates.ts'
import { createSignedImages, VERIFIERS } from '../support/signatures/signed-images.ts'

const TYPE = 'registry.chainguard.dev/SignatureVerifier'
const keys = ecKey()
const key = publicPem(keys)
const root = issueCertificate({ subject: { CN: 'root' }, ca: true })
const leaf = issueCertificate({ issuer: root })
const valid = {
  authorities: root.pem,
  identity: 'ada@acme.example',
  issuer: 'https://accounts.example.com',
  logKeys: [key],
}
const missing = `sha256:${'0123456789abcdef'.repeat(4)}`

onEveryDatabase('signature verifiers', (cast) => {
  test('a verifier is created, read, listed, updated and deleted; the audit log has each change', async () => {
    const { uid: organization, owner } = await cast().organization()
    const { api } = owner
    const made = await api.create(`${VERIFIERS}/${organization}`, { name: 'release', publicKey: { key } })
    const { uid, createTime, ...rest } = made
    assert.deepEqual(rest, {
      name: 'release',
      description: '',
      publicKey: { key, logKeys: [] },
      updateTime: createTime,
    })
    assert.deepEqual((await api.get(`${VERIFIERS}/${uid}`)).body, made)
    const listed = await api.get(VERIFIERS, { name: 'release', 'uidp.descendants_of': organization })
    assert.deepEqual([listed.body.signatureVerifiers, listed.body.totalCount], [[made], '1'])
    const changed = await api.patch(`${VERIFIERS}/${uid}`, { certificate: valid, description: 'Fulcio' })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(changed.body.certificate, { ...valid, timestampAuthorities: [], certificateLogKeys: [] })
    assert.equal(changed.body.publicKey, undefined)
    assertError(
      await api.post(`${VERIFIERS}/${organization}`, { name: 'release', publicKey: { key } }),
      alreadyExistsError(TYPE, organization),
    )
    assert.equal((await api.delete(`${VERIFIERS}/${uid}`)).status, 200)
    assertError(await api.get(`${VERIFIERS}/${uid}`), notFoundError(TYPE, uid))
    const events = await cast().auditEventsOf(uid)
    assert.deepEqual(
      events.map(({ method }) => method.split('/').at(-1)),
      ['CreateSignatureVerifier', 'UpdateSignatureVerifier', 'DeleteSignatureVerifier'],
    )
  })

  const bits = (modulusLength: number) => publicPem(generateKeyPairSync('rsa', { modulusLength }))
  const [a, b] = [ecKey(), ecKey()]
  const crossed = [
    issueCertificate({
      subject: { CN: 'a' },
      keys: a,
      ca: true,
      issuer: issueCertificate({ subject: { CN: 'b' }, keys: b }),
    }),
    issueCertificate({
      subject: { CN: 'b' },
      keys: b,
      ca: true,
      issuer: issueCertificate({ subject: { CN: 'a' }, keys: a }),
    }),
  ]
  const rootAgain = issueCertificate({
    subject: { CN: 'root' },
    ca: true,
    keys: root,
    toMs: Date.now() + 7_200_000,
  })
  const child = issueCertificate({ subject: { CN: 'child' }, ca: true, issuer: root })
  const invalid: readonly [string, object, ...string[]][] = [
    ['no method', {}, 'publicKey'],
    ['an empty key', { publicKey: {} }, 'publicKey.key'],
    [
      'a private key',
      { publicKey: { key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) } },
      'publicKey.key',
    ],
    ['a certificate in place of a key', { publicKey: { key: root.pem } }, 'publicKey.key'],
    ['two keys', { publicKey: { key: key + key } }, 'publicKey.key'],
    ['text', { publicKey: { key: 'x' } }, 'publicKey.key'],
    [
      'a key that cannot be read',
      { publicKey: { key: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n' } },
      'publicKey.key',
    ],
    ['a short key (signatureRsaBitsMin)', { publicKey: { key: bits(1024) } }, 'publicKey.key'],
    [
      'a key of another curve',
      { publicKey: { key: publicPem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })) } },
      'publicKey.key',
    ],
    ['a key of X25519', { publicKey: { key: publicPem(generateKeyPairSync('x25519')) } }, 'publicKey.key'],
    [
      'a long key (verifierPemCharsMax)',
      { publicKey: { key: key + ' '.repeat(limits.verifierPemCharsMax) } },
      'publicKey.key',
    ],
    ['an invalid log key', { publicKey: { key, logKeys: [key, 'x'] } }, 'publicKey.logKeys[1]'],
    [
      'many log keys (verifierKeysMax)',
      { publicKey: { key, logKeys: Array(limits.verifierKeysMax + 1).fill(key) } },
      'publicKey.logKeys',
    ],
    ['no authorities', { certificate: { ...valid, authorities: '' } }, 'certificate.authorities'],
    [
      'an authority that is not one',
      { certificate: { ...valid, authorities: leaf.pem + root.pem } },
      'certificate.authorities',
    ],
    [
      'an authority without its root',
      { certificate: { ...valid, authorities: child.pem } },
      'certificate.authorities',
    ],
    [
      'an authority twice',
      { certificate: { ...valid, authorities: root.pem + root.pem } },
      'certificate.authorities',
    ],
    [
      'two authorities with one key',
      { certificate: { ...valid, authorities: root.pem + rootAgain.pem } },
      'certificate.authorities',
    ],
    [
      'authorities that issue each other',
      { certificate: { ...valid, authorities: crossed.map(({ pem }) => pem).join('') } },
      'certificate.authorities',
    ],
    [
      'many authorities (verifierCertificatesMax)',
      { certificate: { ...valid, authorities: root.pem.repeat(limits.verifierCertificatesMax + 1) } },
      'certificate.authorities',
    ],
    ['no identity', { certificate: { ...valid, identity: undefined } }, 'certificate.identity'],
    ['an empty identity', { certificate: { ...valid, identity: '' } }, 'certificate.identity'],
    [
      'a long identity (verifierIdentityCharsMax)',
      { certificate: { ...valid, identity: 'x'.repeat(limits.verifierIdentityCharsMax + 1) } },
      'certificate.identity',
    ],
    [
      'an invalid pattern',
      { certificate: { ...valid, identity: undefined, identityPattern: '(' } },
      'certificate.identityPattern',
    ],
    [
      'a pattern that looks back',
      { certificate: { ...valid, issuer: undefined, issuerPattern: '(a)\\1' } },
      'certificate.issuerPattern',
    ],
    ['no issuer', { certificate: { ...valid, issuer: undefined } }, 'certificate.issuer'],
    ['no time', { certificate: { ...valid, logKeys: [] } }, 'certificate.logKeys'],
    [
      'a timestamp authority without its root',
      { certificate: { ...valid, timestampAuthorities: [leaf.pem] } },
      'certificate.timestampAuthorities[0]',
    ],
    [
      'a timestamp authority that is not a chain',
      { certificate: { ...valid, timestampAuthorities: [leaf.pem + issueCertificate({ ca: true }).pem] } },
      'certificate.timestampAuthorities[0]',
    ],
    ['no identities of Notation', { notation: { authorities: root.pem } }, 'notation.identities'],
    [
      'many identities (verifierIdentitiesMax)',
      {
        notation: {
          authorities: root.pem,
          identities: Array(limits.verifierIdentitiesMax + 1).fill('x509.subject: C=US, ST=WA, O=a'),
        },
      },
      'notation.identities',
    ],
    [
      '`*` beside other identities',
      { notation: { authorities: root.pem, identities: ['*', 'x509.subject: C=US, ST=WA, O=a'] } },
      'notation.identities[0]',
    ],
    [
      'an identity without an organization',
      { notation: { authorities: root.pem, identities: ['x509.subject: C=US, ST=WA'] } },
      'notation.identities[0]',
    ],
    [
      'an identity with an attribute twice',
      { notation: { authorities: root.pem, identities: ['x509.subject: C=US, ST=WA, O=a, O=b'] } },
      'notation.identities[0]',
    ],
    [
      'an identity that is not a name',
      { notation: { authorities: root.pem, identities: ['x509.subject: acme'] } },
      'notation.identities[0]',
    ],
    [
      'an identity with two values',
      { notation: { authorities: root.pem, identities: ['x509.subject: C=US, ST=WA, O=a+OU=b'] } },
      'notation.identities[0]',
    ],
  ]
  test('invalid verifiers are rejected with the fields that are invalid', async () => {
    const { uid: organization, owner } = await cast().organization()
    for (const [what, method, ...fields] of invalid) {
      const reply = await owner.api.post(`${VERIFIERS}/${organization}`, { name: 'release', ...method })
      assert.equal(reply.status, 400, what)
      assertError(reply, invalidFieldError(...fields))
    }
  })

  test('viewers read verifiers and signatures; only owners change verifiers', async () => {
    const images = await createSignedImages(cast())
    const made = await images.verifier({ publicKey: { key } })
    const viewer = await images.organization.member('viewer')
    assert.equal((await viewer.api.get(`${VERIFIERS}/${made.uid}`)).status, 200)
    const path = `registry/repos/${images.repo}/manifests/${images.image.digest}/signatures`
    assert.equal((await viewer.api.get(path)).status, 200)
    assertError(await viewer.api.patch(`${VERIFIERS}/${made.uid}`, { name: 'x' }), permissionDeniedError)
    assertError(await viewer.api.delete(`${VERIFIERS}/${made.uid}`), permissionDeniedError)
    assertError(await viewer.api.post(`${VERIFIERS}/${images.root}`, { name: 'x' }), permissionDeniedError)
    const stranger = await cast().organization()
    assertError(await stranger.owner.api.get(path), permissionDeniedError)
    assertError(await stranger.owner.api.get(`${VERIFIERS}/${made.uid}`), permissionDeniedError)
    assert.deepEqual((await stranger.owner.api.get(VERIFIERS)).body.signatureVerifiers, [])
  })

  test('signatures of unknown repos, tags and manifests are not found; invalid references are rejected', async () => {
    const { api, repo, root: organization, image } = await createSignedImages(cast())
    const at = (reference: string, of = repo) =>
      api.get(`registry/repos/${of}/manifests/${reference}/signatures`)
    assertError(await at(missing), notFoundError('registry.chainguard.dev/Manifest', missing))
    assertError(await at('none'), notFoundError('registry.chainguard.dev/Tag', 'none'))
    const gone = `${organization}/0123456789abcdef`
    assertError(await at(image.digest, gone), notFoundError('registry.chainguard.dev/Repo', gone))
    for (const reference of ['sha256:x', `md5:${'a'.repeat(32)}`, '-x', 'x'.repeat(129)])
      assertError(await at(reference), invalidFieldError('reference'))
  })
})
