import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { commandLine } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { alpineFiles, imageOfFiles } from './support/images/readable-image.ts'
import { bearerOf, ociClient, pushImage } from './support/registry/registry.ts'
import { imageJobs, startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** What images contain, on the command line. */

const [database] = databases

describe('contents of images on the command line', () => {
  let berth: TestBerth
  before(async () => {
    assert.ok(database)
    berth = await startTestBerth(database, { contents: imageJobs.contents })
  })
  after(() => berth.stop())

  test('packages, SBOMs and differences of images', async (t) => {
    const client = ociClient(berth, await bearerOf(berth, berth.owner))
    const name = `${berth.organization}/app`
    const cli = commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
    const run = (...args: string[]) => cli.run(['images', ...args])
    await pushImage(client, name, await imageOfFiles([alpineFiles('a 1-r0', 'b 1-r0')]), '1.0')
    await pushImage(client, name, await imageOfFiles([alpineFiles('b 2-r0')]), '1.1')

    const packages = await run('packages', `${name}:1.0`, '--wait', '-o', 'json')
    assert.equal(packages.code, 0, packages.stderr)
    assert.deepEqual(
      JSON.parse(packages.stdout).items.map(({ name, version }: Record<string, string>) => [name, version]),
      [
        ['a', '1-r0'],
        ['b', '1-r0'],
      ],
    )
    const table = await run('packages', `${name}:1.0`, '--name-prefix', 'b')
    assert.match(table.stdout, /NAME +VERSION +TYPE +LICENSE\nb +1-r0 +apk +MIT\n$/)

    const sbom = await run('sbom', `${name}:1.0`)
    assert.equal(JSON.parse(sbom.stdout).spdxVersion, 'SPDX-2.3', sbom.stderr)
    const cyclonedx = await run('sbom', `${name}:1.0`, '--format', 'cyclonedx')
    assert.equal(JSON.parse(cyclonedx.stdout).bomFormat, 'CycloneDX')
    const original = await run('sbom', `${name}:1.0`, '--format', 'original')
    assert.notEqual(original.code, 0)
    assert.match(original.stderr, /without an SBOM/)

    const diff = await run('diff', `${name}:1.0`, `${name}:1.1`, '--wait')
    assert.equal(diff.code, 0, diff.stderr)
    assert.match(diff.stdout, /removed +a +apk +1-r0 *\n/)
    assert.match(diff.stdout, /changed +b +apk +1-r0 +2-r0\n/)

    const foreign = await run('packages', 'ghcr.io/acme/app:1.0')
    assert.match(foreign.stderr, /is in the registry ghcr.io/)
    assert.notEqual(foreign.code, 0)
  })
})
