import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { type ApiFixture, onEveryDatabase } from '../support/api/api-fixture.ts'
import { goProgram, withoutGo } from '../support/deploy/go-tools.ts'
import { hostOf } from '../support/registry/registry.ts'
import { temporaryDirectory } from '../support/server/process.ts'
import { ecKey, issueCertificate } from '../support/signatures/certificates.ts'
import { createSignedImages } from '../support/signatures/signed-images.ts'

/** Signatures that cosign and Notation make, verified by the server. */

const COSIGN = 'github.com/sigstore/cosign/v2/cmd/cosign@v2.5.3'
const NOTATION = 'github.com/notaryproject/notation/cmd/notation@v1.3.2'

const prepared = async (t: TestContext, cast: ApiFixture, [name, version]: readonly [string, string]) => {
  const images = await createSignedImages(cast)
  const home = temporaryDirectory(t)
  const host = hostOf(cast.berth)
  const token = await cast.berth.tokenOf(images.organization.owner.uid, { audiences: [host] })
  const auth = Buffer.from(`_token:${token}`).toString('base64')
  mkdirSync(join(home, '.docker'))
  writeFileSync(join(home, '.docker', 'config.json'), JSON.stringify({ auths: { [host]: { auth } } }))
  const program = goProgram(name, version)
  const run = async (...args: string[]) => {
    const env = {
      HOME: home,
      DOCKER_CONFIG: join(home, '.docker'),
      XDG_CONFIG_HOME: join(home, '.config'),
      COSIGN_PASSWORD: '',
      COSIGN_EXPERIMENTAL: '1',
      NOTATION_USERNAME: '_token',
      NOTATION_PASSWORD: token,
      PATH: process.env['PATH'],
    }
    // The server runs in this process.
    const { stdout } = await promisify(execFile)(program, args, { cwd: home, env })
    return stdout
  }
  return { ...images, home, run, reference: `${host}/${images.name}@${images.image.digest}` }
}

onEveryDatabase('signatures of tools', (cast) => {
  const skip = withoutGo

  test('cosign signs with a key, at the tag and as a referrer', { skip }, async (t) => {
    const { run, home, reference, verifier, status } = await prepared(t, cast(), ['cosign', COSIGN])
    await run('generate-key-pair')
    const sign = (...more: string[]) =>
      run(
        'sign',
        '--yes',
        '--tlog-upload=false',
        '--allow-http-registry',
        '--key',
        'cosign.key',
        ...more,
        reference,
      )
    await sign()
    await verifier({ publicKey: { key: readFileSync(join(home, 'cosign.pub'), 'utf8') } })
    const tagged = await status()
    assert.equal(tagged.state, 'SIGNATURE_STATE_VERIFIED', JSON.stringify(tagged))
    await sign('--registry-referrers-mode=oci-1-1')
    const { signatures } = await status()
    assert.deepEqual(
      signatures.map(({ tag, state }: { tag: string; state: string }) => [tag !== '', state]),
      [
        [true, 'SIGNATURE_STATE_VERIFIED'],
        [false, 'SIGNATURE_STATE_VERIFIED'],
      ],
    )
  })

  for (const format of ['jws', 'cose'])
    test(`notation signs in ${format}`, { skip }, async (t) => {
      const { run, home, reference, verifier, status } = await prepared(t, cast(), ['notation', NOTATION])
      const subject = { C: 'US', ST: 'WA', O: 'acme' }
      const root = issueCertificate({ subject: { ...subject, CN: 'root' }, ca: true })
      const keys = ecKey()
      const leaf = issueCertificate({
        subject: { ...subject, CN: 'signer' },
        issuer: root,
        keys,
        purposes: ['2b06010505070303'],
      })
      const folder = join(home, '.config', 'notation')
      mkdirSync(folder, { recursive: true })
      const [keyPath, certPath] = [join(folder, 'release.key'), join(folder, 'release.crt')]
      writeFileSync(keyPath, keys.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
      writeFileSync(certPath, leaf.pem + root.pem)
      const key = { name: 'release', keyPath, certPath }
      writeFileSync(join(folder, 'signingkeys.json'), JSON.stringify({ default: 'release', keys: [key] }), {
        mode: 0o600,
      })
      await run('sign', '--insecure-registry', '--signature-format', format, reference)
      const before = await status()
      assert.equal(before.state, 'SIGNATURE_STATE_UNTRUSTED', JSON.stringify(before))
      await verifier({
        notation: { authorities: root.pem, identities: ['x509.subject: C=US, ST=WA, O=acme'] },
      })
      const result = await status()
      assert.equal(result.state, 'SIGNATURE_STATE_VERIFIED', JSON.stringify(result))
      assert.equal(result.signatures[0].verifications[0].identity, 'C=US, ST=WA, O=acme, CN=signer')
    })
})
