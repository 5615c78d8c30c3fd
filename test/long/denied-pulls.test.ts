import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { policiesOf } from '../support/api/policies.ts'
import { commandLine } from '../support/cli/command-line.ts'
import { goProgram, withoutGo } from '../support/deploy/go-tools.ts'
import { createRegistryFixture, hostOf, pushImage, testImage } from '../support/registry/registry.ts'
import { temporaryDirectory } from '../support/server/process.ts'

/** What a user of a container tool reads when a policy denies a pull. */

const CRANE = 'github.com/google/go-containerregistry/cmd/crane@v0.22.1'

onEveryDatabase('denied pulls, as tools show them', (cast) => {
  test('crane shows the policy, why it denies, and the command that overrides it, which works', {
    skip: withoutGo,
  }, async (t) => {
    const { owner, name, root, organization } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name, testImage(), 'nightly')
    const { berth } = cast()
    const host = hostOf(berth)
    const token = await berth.tokenOf(organization.owner.uid, { audiences: [host] })
    const home = temporaryDirectory(t)
    mkdirSync(join(home, '.docker'))
    const auth = Buffer.from(`_token:${token}`).toString('base64')
    writeFileSync(join(home, '.docker', 'config.json'), JSON.stringify({ auths: { [host]: { auth } } }))
    const program = goProgram('crane', CRANE)
    const crane = async (...args: string[]) => {
      const env = { HOME: home, DOCKER_CONFIG: join(home, '.docker'), PATH: process.env['PATH'] }
      try {
        // The server runs in this process.
        const { stdout } = await promisify(execFile)(program, ['--insecure', ...args], { env })
        return { stdout, stderr: '' }
      } catch (error) {
        return error as { readonly stdout: string; readonly stderr: string }
      }
    }
    const reference = `${host}/${name}:nightly`
    const pull = () => crane('pull', reference, join(home, 'image.tar'))
    assert.equal((await pull()).stderr, '')
    await policiesOf(berth, organization.owner.api.token).bind(root, 'tag-pattern', { patterns: ['v*'] })
    const { stderr } = await pull()
    t.diagnostic(stderr.trim())
    assert.match(stderr, /DENIED: policy tag-pattern denies this image: the tag nightly does not match v\*/)
    const [, command = ''] =
      /can allow it: berth (policies overrides create .*) --reason TEXT/.exec(stderr) ?? []
    assert.ok(command.includes(image.digest), stderr)
    const cli = commandLine(t, berth.url, { BERTH_TOKEN: organization.owner.api.token })
    await cli.ok([...command.split(' '), '--reason', 'until Friday'])
    assert.equal((await pull()).stderr, '')
    assert.equal((await crane('digest', reference)).stdout.trim(), image.digest)
  })
})
