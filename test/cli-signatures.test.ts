import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import { commandLine } from './support/cli/command-line.ts'
import { ecKey, issueCertificate, publicPem } from './support/signatures/certificates.ts'
import { cosignLayer } from './support/signatures/cosign-signatures.ts'
import { createSignedImages } from './support/signatures/signed-images.ts'

/** Signatures and their verifiers on the command line. */

onEveryDatabase('signatures on the command line', (cast) => {
  test('verifiers are created, listed, updated and deleted; signatures are listed and required', async (t) => {
    const images = await createSignedImages(cast())
    const cli = commandLine(t, cast().berth.url, { BERTH_TOKEN: images.api.token })
    const file = (name: string, text: string) => {
      writeFileSync(join(cli.home, name), text)
      return join(cli.home, name)
    }
    const keys = ecKey()
    await images.cosign([cosignLayer(images.image.digest, keys)])
    const [key, other] = [file('cosign.pub', publicPem(keys)), file('other.pub', publicPem(ecKey()))]
    const image = `${images.name.replace(images.root, images.organization.name)}@${images.image.digest}`
    const signatures = (...more: string[]) => cli.run(['images', 'signatures', image, ...more])

    const none = await signatures('--require-verified')
    assert.equal(none.code, 1)
    assert.match(none.stderr, /no signature verifiers apply to the repo/)
    assert.match(none.stderr, /no signature of sha256:[0-9a-f]+ is verified: the image is untrusted/)

    const verifiers = (...args: string[]) => cli.ok(['images', 'verifiers', ...args])
    const parent = ['--parent', images.root]
    const uid = (await verifiers('create', 'release', ...parent, '--key', other, '-o', 'id')).trim()
    assert.match((await signatures()).stdout, /untrusted.*release: signature verification failed/)
    await verifiers('update', uid, '--key', key)
    const verified = await signatures('--require-verified', '-o', 'json')
    assert.deepEqual(
      JSON.parse(verified.stdout).items.map(
        ({ state, verifications }: { state: string; verifications: object[] }) => [state, verifications[0]],
      ),
      [['SIGNATURE_STATE_VERIFIED', { verifier: uid, verifierName: 'release', identity: '', issuer: '' }]],
    )

    const roots = file('root.pem', issueCertificate({ subject: { CN: 'root' }, ca: true }).pem)
    const identity = ['--identity', 'ada@acme.example', '--issuer-pattern', 'https://.*', '--log-key', key]
    await verifiers('create', 'ci', ...parent, '--authorities', roots, ...identity)
    const subject = 'x509.subject: C=US, ST=WA, O=acme'
    await verifiers('create', 'vendor', ...parent, '--notation-authorities', roots, '--identity', subject)
    const listed = await verifiers('list', ...parent)
    for (const text of ['release', 'ada@acme.example', subject, 'notation'])
      assert.ok(listed.includes(text), text)
    assert.match((await signatures()).stdout, /verified/)
    await verifiers('delete', uid, '--yes')
    assert.equal((await signatures('--require-verified')).code, 1)

    const wrong: readonly [readonly string[], RegExp][] = [
      [['--key', 'none.pem'], /none\.pem cannot be read/],
      [['--identity', 'x'], /--identity requires --authorities or --notation-authorities/],
      [['--authorities', roots, '--identity', 'a', '--identity-pattern', 'b'], /cannot be used with/],
      [['--key', roots], /must be one public key in PEM/],
      [[], /publicKey, certificate or notation is required/],
    ]
    for (const [options, reason] of wrong) {
      const { code, stderr } = await cli.run(['images', 'verifiers', 'create', 'x', ...parent, ...options])
      assert.notEqual(code, 0)
      assert.match(stderr, reason)
    }
  })
})
