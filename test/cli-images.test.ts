import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { newName } from './support/api/api-fixture.ts'
import { createOrganization } from './support/api/tenant.ts'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { runInTerminal, withoutTerminal } from './support/cli/terminal.ts'
import {
  bearerOf,
  descriptor,
  digest,
  hostOf,
  imageFromManifest,
  type OciClient,
  ociClient,
  pushImage,
  putManifest,
  testImage,
  types,
} from './support/registry/registry.ts'
import { startRegistryProxy } from './support/registry/registry-proxy.ts'
import { cleanups, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** The commands of `berth images` that name images. On SQLite alone: what a command does is a request. */

const sqlite = { name: 'sqlite', open: undefined } as const

describe('berth images', () => {
  const cleanup = cleanups()
  let berth: TestBerth
  let client: OciClient
  let cli: CommandLine
  before(async () => {
    berth = await startTestBerth(sqlite)
    client = ociClient(berth, await bearerOf(berth, berth.owner))
    cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
    await createOrganization(berth, 'acme')
  })
  after(async () => {
    await cleanup.run()
    await berth.stop()
  })
  const images = (...args: string[]) => cli.ok(['images', ...args])
  const json = async (...args: string[]) => JSON.parse(await images(...args, '--json'))
  const refused = async (code: number, says: RegExp, ...args: string[]) => {
    const finished = await cli.run(['images', ...args])
    assert.equal(finished.code, code, finished.stderr)
    assert.match(finished.stderr, says)
    assert.equal(finished.stdout, '')
  }
  const name = () => `acme/team/${newName('app')}`

  test('an image is looked at: its manifest to the byte, its digest, its platforms and its size', async () => {
    const repo = name()
    const shared = testImage({}, { layerBytes: 2000 })
    const other = testImage(
      { layers: JSON.parse(shared.manifest.toString()).layers },
      { architecture: 'arm64' },
    )
    for (const image of [shared, other]) await pushImage(client, repo, image)
    const manifests = [shared, other].map(({ descriptor }, at) => ({
      ...descriptor,
      platform: { os: 'linux', architecture: ['amd64', 'arm64'][at] },
    }))
    const annotations = { 'org.opencontainers.image.title': 'App' }
    const index = imageFromManifest({ schemaVersion: 2, mediaType: types.index, manifests, annotations })
    await putManifest(client, repo, '1', index)

    assert.equal(await images('manifest', `${repo}:1`), index.manifest.toString())
    assert.equal(
      await images('manifest', `${repo}@${other.digest}`, '-o', 'table'),
      other.manifest.toString(),
    )
    assert.deepEqual((await json('manifest', `${repo}:1`)).annotations, annotations)
    assert.equal(await images('digest', `${hostOf(berth)}/${repo}:1`), `${index.digest}\n`)
    assert.equal(await images('digest', `${repo}:1`, '--platform', 'linux/arm64'), `${other.digest}\n`)
    assert.equal((await json('digest', `${repo}:1`)).mediaType, types.index)
    const shown = await images('describe', `${repo}:1`)
    assert.match(
      shown,
      /^NAME .*\nDIGEST .*\nTYPE .*index.*\nSIZE +2\.\d KiB\nANNOTATIONS .*=App\n\nPLATFORM /,
    )
    assert.match(shown, new RegExp(`\nlinux/arm64 +${other.digest} +2\\.\\d KiB +1`))
    const one = await images('describe', `${repo}:1`, '--platform', 'linux/amd64')
    assert.match(one, /\n\nLAYER +SIZE +TYPE\nsha256:/)
    const described = await json('describe', `${repo}:1`)
    assert.deepEqual(
      described.images.map(({ platform }: { platform: string }) => platform),
      ['linux/amd64', 'linux/arm64'],
    )
    assert.equal(described.images[1].config.architecture, 'arm64')
    const sizes = (await json('size', `${repo}:1`)).items
    assert.equal(sizes.length, 3)
    // The layer that both have counts once.
    assert.equal(sizes[2].size, sizes[0].size + sizes[1].size - 2000)
    assert.equal(sizes[2].size, described.size)
    await refused(2, /has no image for linux\/s390x/, 'digest', `${repo}:1`, '--platform', 'linux/s390x')
    await refused(2, /--platform must have a form such as/, 'digest', `${repo}:1`, '--platform', 'Linux')
  })

  test('the server copies between its own repos; the client copies what it cannot', async () => {
    const { db } = berth.berth.installation.store
    const copyEvents = async () => {
      // Denials are written a moment later.
      const changes = db.kysely.selectFrom('audit_events').select('method').where('code', '=', 0)
      const rows = await changes.execute()
      return rows.filter(({ method }) => method === 'berth.registry.v1.ImageCopiesService/CopyImage').length
    }
    const [repo, target] = [name(), name()]
    const shared = [testImage(), testImage({}, { architecture: 'arm64' })]
    for (const image of shared) await pushImage(client, repo, image)
    const manifests = shared.map(({ descriptor }, at) => ({
      ...descriptor,
      platform: { os: 'linux', architecture: ['amd64', 'arm64'][at] },
    }))
    const index = imageFromManifest({ schemaVersion: 2, mediaType: types.index, manifests })
    for (const tag of ['1.0', '1.1']) await putManifest(client, repo, tag, index)
    const sbom = testImage({ subject: index.descriptor, artifactType: 'application/x.sbom' })
    await pushImage(client, repo, sbom)

    // The destination does not exist: the client copies the first tag and creates it.
    const first = await json('copy', repo, target, '--all-tags', '--referrers')
    assert.deepEqual([first.tags, first.digest, first.blobs], [['1.0', '1.1'], index.digest, 0])
    const before = await copyEvents()
    assert.equal(before, 1)
    const again = await json('copy', repo, target, '--all-tags', '--referrers')
    assert.deepEqual([again.manifests, again.blobs, again.blobsMounted, again.bytes], [0, 0, 0, 0])
    assert.equal(await copyEvents(), before)

    // By name with the host, for one platform, to another tag.
    const arm = ['--platform', 'linux/arm64']
    const one = await json('copy', `${hostOf(berth)}/${repo}:1.0`, `${target}:arm`, ...arm)
    assert.deepEqual([one.digest, one.tags, one.manifests], [shared[1]?.digest, ['arm'], 0])
    assert.equal(await copyEvents(), before + 1)
    await refused(1, /no platform linux\/s390x/, 'copy', `${repo}:1.0`, target, '--platform', 'linux/s390x')
    // A tag that points elsewhere is moved on request only, by the server and by the client, and an immutable one never.
    const keep = [`${repo}:1.0`, `${target}:arm`, '--keep-tags']
    await refused(1, /tag arm of the destination points to sha256:/, 'copy', ...keep)
    const layout = join(temporaryDirectory(cleanup), 'layout')
    await images('pull', `${repo}:1.0`, layout)
    await refused(1, /tag arm of \S+ points to sha256:\w+ and is kept/, 'push', layout, ...keep.slice(1))
    const moved = await json('copy', `${repo}:1.0`, `${target}:arm`)
    assert.equal(moved.digest, index.digest)
    await images('policy', 'set', target, '--immutable', 'a*')
    await refused(
      1,
      /tag arm of repo \S+ is immutable/,
      'copy',
      `${repo}@${shared[0]?.digest}`,
      `${target}:arm`,
    )

    // More manifests than the server copies in one call.
    const content = JSON.parse(sbom.manifest.toString())
    for (let at = 0; at < limits.copiedManifestsMax; at += 1) {
      const more = imageFromManifest({ ...content, mediaType: types.image, annotations: { at: String(at) } })
      assert.equal((await putManifest(client, repo, more.digest, more)).status, 201)
    }
    const events = await copyEvents()
    const large = await json('copy', `${repo}:1.0`, `${target}:large`, '--referrers')
    assert.deepEqual([large.digest, large.manifests], [index.digest, limits.copiedManifestsMax])
    assert.equal(await copyEvents(), events)
  })

  test('a folder is published with its repos, and unpublished', async () => {
    const repo = name()
    const image = await pushImage(client, repo, testImage(), '1.0')
    const folder = repo.slice(0, repo.lastIndexOf('/'))
    const pull = async () => (await fetch(`${berth.url}/v2/${repo}/manifests/${image.digest}`)).status
    assert.equal(await pull(), 401)
    assert.equal((await json('repos', 'visibility', repo)).public, false)
    const publish = await cli.run(['images', 'repos', 'publish', folder, '--yes'])
    assert.match(publish.stderr, /anyone can pull without a token/)
    assert.equal(await pull(), 200)
    assert.match((await cli.run(['images', 'repos', 'publish', folder, '--yes'])).stderr, /is public/)
    assert.match(await images('repos', 'visibility', repo), /public[\s\S]*registry.pull in /)
    const unpublish = await cli.run(['images', 'repos', 'unpublish', folder, '--yes'])
    assert.match(unpublish.stderr, /is private/)
    assert.equal(await pull(), 401)
  })

  test('tags are set, moved, listed, looked back on and deleted', async () => {
    const repo = name()
    const [first, second] = [testImage(), testImage()]
    await pushImage(client, repo, first, '1.0')
    await pushImage(client, repo, second, '1.1')
    assert.deepEqual((await json('tags', 'set', `${repo}:1.0`, 'stable', 'latest')).tags, [
      'stable',
      'latest',
    ])
    assert.match(
      await images('tags', 'move', `${repo}@${second.digest}`, 'stable'),
      /^NAME [\s\S]*TAGS +stable\n$/,
    )
    assert.equal(
      await images('tags', 'history', `${repo}:stable`, '-o', 'id'),
      `${second.digest}\n${first.digest}\n`,
    )
    assert.match(
      await images('tags', 'history', `${repo}:stable`),
      /^DIGEST +SINCE +BY +AVAILABLE\nsha256:.* yes\n/,
    )
    const restored = await json('tags', 'restore', `${repo}:stable`, '--yes')
    assert.equal(restored.digest, first.digest)
    const again = await json('tags', 'restore', `${repo}:stable`, '--digest', second.digest, '--yes')
    assert.equal(again.digest, second.digest)
    await refused(
      1,
      /no manifest sha256:0/,
      'tags',
      'restore',
      `${repo}:stable`,
      '--digest',
      `sha256:${'0'.repeat(64)}`,
      '--yes',
    )
    await refused(2, /no earlier digest/, 'tags', 'restore', `${repo}:1.0`, '--yes')
    assert.equal((await json('tags', 'deprecate', `${repo}:1.0`)).deprecated, true)
    assert.equal((await json('tags', 'deprecate', `${repo}:1.0`, '--undo')).deprecated, false)
    const names = async (...args: string[]) =>
      (await json(...args)).items.map(({ name }: { name: string }) => name)
    assert.deepEqual(await names('list', repo), ['1.0', '1.1', 'latest', 'stable'])
    assert.deepEqual(await names('tags', 'list', `${hostOf(berth)}/${repo}`), [
      '1.0',
      '1.1',
      'latest',
      'stable',
    ])
    assert.equal((await cli.run(['images', 'tags', 'delete', `${repo}:latest`, '--yes'])).code, 0)
    assert.deepEqual(await names('tags', 'list', '--repo', repo), ['1.0', '1.1', 'stable'])
    await refused(2, /tag 'latest' not found/, 'tags', 'delete', `${repo}:latest`, '--yes')
    assert.equal(
      (await cli.run(['images', 'tags', 'delete', `${repo}:latest`, '--yes', '--allow-missing'])).code,
      0,
    )
    await refused(2, /specify a tag/, 'tags', 'delete', repo, '--yes')
    await refused(2, /is not a valid tag/, 'tags', 'set', `${repo}:1.0`, 'a b')
    // An image goes with all its tags.
    await refused(2, /Confirm with --yes/, 'delete', `${repo}:stable`)
    assert.equal((await cli.run(['images', 'delete', `${repo}:stable`, '--yes'])).code, 0)
    assert.deepEqual(await names('list', repo), ['1.0'])
    await refused(
      2,
      /specify a tag or a digest; to delete a repo, use berth images repos delete/,
      'delete',
      repo,
      '--yes',
    )
    await refused(1, / tag 9 not found in /, 'tags', 'set', `${repo}:9`, 'x')
  })

  test('a name without an organization is in the group that was named, or configured', async () => {
    const repo = name()
    const image = await pushImage(client, repo, testImage(), 'latest')
    const [, , last = ''] = repo.split('/')
    assert.equal(await images('digest', last, '--parent', 'acme/team'), `${image.digest}\n`)
    const env = { BERTH_DEFAULT_GROUP: 'acme/team' }
    assert.equal(await cli.ok(['images', 'digest', `${last}:latest`], { env }), `${image.digest}\n`)
    await refused(
      2,
      /has no organization: use my-org\/app or docker\.io\/app, or give --parent/,
      'digest',
      'app',
    )
    await refused(2, /must have path components of lowercase letters/, 'digest', 'acme/App')
  })

  test('errors name the next step', async () => {
    const repo = name()
    const directory = temporaryDirectory(cleanup)
    await pushImage(client, repo, testImage(), '1')
    const file = join(directory, 'image.tar')
    writeFileSync(file, '')
    await refused(2, /is a file, not the directory of an OCI layout/, 'push', file, repo)
    await refused(1, /is not an OCI layout: it has no index\.json/, 'push', directory, repo)
    await refused(2, /--jobs must be a number from 1 to 32/, 'copy', repo, `${repo}-2`, '--jobs', '0')
    await refused(
      2,
      /it gets the digest of the source/,
      'copy',
      `${repo}:1`,
      `${repo}@sha256:${'0'.repeat(64)}`,
    )
    await refused(2, /without a tag/, 'copy', `${repo}:1`, `${repo}-2`, '--all-tags')
    await refused(1, /tag nothing not found in/, 'copy', `${repo}:nothing`, `${repo}-2`)
    await refused(3, /cannot connect to 127\.0\.0\.1:1/, 'copy', '127.0.0.1:1/a:1', repo)
    await refused(2, /must be oci:DIR or oci:DIR:TAG/, 'copy', 'oci:', repo)
    // One that is no index is what it is, whatever platform was asked for.
    assert.equal((await json('copy', `${repo}:1`, repo, '--platform', 'linux/mips')).manifests, 0)
    // A stranger learns only that access is denied.
    const rejected = await cli.run(['images', 'digest', `${repo}:1`], { env: { BERTH_TOKEN: 'x.y.z' } })
    assert.equal(rejected.code, 1, rejected.stderr)
  })

  test('an index.json that is damaged is rejected, and left as it is', async () => {
    const repo = name()
    await pushImage(client, repo, testImage(), '1')
    const directory = temporaryDirectory(cleanup)
    for (const text of ['{"manifests": [', '[]']) {
      writeFileSync(join(directory, 'index.json'), text)
      const { code, stderr } = await cli.run(['images', 'pull', `${repo}:1`, directory])
      assert.equal(code, 1, stderr)
      assert.match(stderr, /^berth: the index\.json of oci:\S+ is not a valid image index\n$/)
      assert.equal(readFileSync(join(directory, 'index.json'), 'utf8'), text)
    }
  })

  test('a list that is invalid, circular or endless is rejected', async () => {
    const subject = `sha256:${'a'.repeat(64)}`
    const manifest = imageFromManifest({
      ...{ schemaVersion: 2, mediaType: types.image, layers: [] },
      config: { mediaType: types.empty, digest: subject, size: 2 },
    })
    let page = (_at: number): { readonly link?: string; readonly body: string } => ({ body: '' })
    const liar = await startRegistryProxy(cleanup, berth.url, ({ request: { url = '' }, reply }) => {
      if (url.includes('/manifests/'))
        return void reply.writeHead(200, { 'content-type': types.image }).end(manifest.manifest)
      const { link, body } = page(Number(new URL(url, 'http://x').searchParams.get('page')))
      reply.writeHead(200, { ...(link !== undefined && { link: `<${link}>; rel="next"` }) }).end(body)
    })
    const never = async (says: RegExp, command: string, pages: typeof page) => {
      page = pages
      const { code, stderr } = await cli.run(['images', command, `${liar.host}/a/b`, '-o', 'none'])
      assert.equal(code, 1, stderr)
      assert.match(stderr, says)
      assert.equal(stderr.split('\n').length, 2, stderr)
    }
    const many = (count: number, of: unknown) => Array.from({ length: count }, () => of)
    const more = { ...manifest.descriptor, annotations: { x: 'x'.repeat(10_000) } }
    const tags = JSON.stringify({ tags: many(50_000, 'a') })
    const manifests = JSON.stringify({ schemaVersion: 2, manifests: many(1500, more) })
    for (const body of ['<html>', '[]', 'null'])
      await never(/responded to \S+\/tags\/list with an invalid list\n$/, 'list', () => ({ body }))
    await never(/responded to \S+\/referrers\/\S+ with an invalid list\n$/, 'referrers', () => ({
      body: '<',
    }))
    await never(/links the next page of a list to an invalid URL\n$/, 'list', () => ({
      body: '{}',
      link: 'http://[',
    }))
    await never(/links the next page of a list to an earlier page\n$/, 'list', (at) => ({
      body: '{}',
      link: `?page=${at % 2}`,
    }))
    await never(/returned a list of more than 2000 pages\n$/, 'list', (at) => ({
      ...{ body: '{}', link: `?page=${at + 1}` },
    }))
    await never(/returned a list of more than 200000 entries\n$/, 'list', (at) => ({
      ...{ body: tags, link: `?page=${at + 1}` },
    }))
    await never(/returned a list of more than 67108864 bytes\n$/, 'referrers', (at) => ({
      ...{ body: manifests, link: `?page=${at + 1}` },
    }))
  })

  test('an image that references more than fits in memory is rejected', async () => {
    const kept = new Map<string, { readonly type: string; readonly bytes: Buffer }>()
    const keep = (type: string, text: string) => {
      const bytes = Buffer.from(text)
      kept.set(digest(bytes), { type, bytes })
      return descriptor(type, bytes)
    }
    const large = 'x'.repeat(4 * 1024 * 1024 - 1000)
    const manifestOf = (config: object, more = {}) =>
      keep(
        types.image,
        JSON.stringify({ schemaVersion: 2, mediaType: types.image, config, layers: [], ...more }),
      )
    const indexOf = (manifests: readonly object[]) =>
      keep(types.index, JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests }))
    const each = <T>(count: number, make: (at: number) => T) =>
      Array.from({ length: count }, (_, at) => make(at))
    const config = keep('application/x+json', '{}')
    const manifests = indexOf(each(17, (at) => manifestOf(config, { annotations: { at: `${at}`, large } })))
    const configs = indexOf(
      each(17, (at) => manifestOf(keep('application/x+json', JSON.stringify({ at, large })))),
    )
    const one = manifestOf(config)
    const many = indexOf(each(10_001, () => one))
    const endless = await startRegistryProxy(cleanup, berth.url, ({ request: { url = '' }, reply }) => {
      const { type, bytes } = kept.get(url.split('/').at(-1) ?? '') ?? { type: '', bytes: Buffer.alloc(0) }
      reply.writeHead(bytes.length === 0 ? 404 : 200, { 'content-type': type }).end(bytes)
    })
    const word = ({ digest }: { readonly digest: string }) => `${endless.host}/a/b@${digest}`
    for (const [image, says] of [
      [manifests, /the image at \S+ has more than 67108864 bytes of manifests\n$/],
      [many, /the image at \S+ has more than 10000 manifests\n$/],
    ] as const) {
      await refused(1, says, 'copy', word(image), `${name()}:1`)
      await refused(1, says, 'describe', word(image))
    }
    await refused(1, /more than 67108864 bytes\b.*\n$/, 'describe', word(configs))
  })

  test('texts of registries forge no line, and reverse none', async () => {
    const message = 'no\nberth: all is well\u202e \u009b31m \u001b[31m'
    const liar = await startRegistryProxy(cleanup, berth.url, ({ reply }) => {
      reply.writeHead(400).end(JSON.stringify({ errors: [{ code: 'DENIED', message }] }))
    })
    const { code, stderr } = await cli.run(['images', 'digest', `${liar.host}/a/b:1`])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^berth: \S+ responded to GET \S+ with status 400: no berth: all is well +31m +\[31m\n$/,
    )
  })

  test('a terminal gets nothing that moves its cursor, a pipe every byte', {
    skip: withoutTerminal,
  }, async () => {
    const repo = name()
    const annotations = { evil: 'a\u009b31m\u202e\u007f', lines: 'b\n\u001b[31m' }
    const image = await pushImage(client, repo, testImage({ annotations }), '1')
    assert.equal(await images('manifest', `${repo}:1`), image.manifest.toString())
    assert.equal((await json('describe', `${repo}:1`)).annotations.evil, annotations.evil)
    for (const command of ['manifest', 'describe'])
      for (const format of ['table', 'json', 'yaml', 'csv']) {
        const { raw, code } = await runInTerminal(cli, [
          'images',
          command,
          `${repo}:1`,
          '--no-color',
          '-o',
          format,
        ])
        assert.equal(code, 0, raw)
        if (`${command} ${format}` !== 'manifest csv') assert.match(raw, /31m/)
        assert.doesNotMatch(raw.replaceAll('\r\n', '\n'), /[^\P{Cc}\n]|\u202e/u, `${command} ${format}`)
      }
  })
})
