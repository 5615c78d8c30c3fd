import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { apiOf, newName } from './support/api/api-fixture.ts'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { runInTerminal, withoutTerminal } from './support/cli/terminal.ts'
import { eventually } from './support/eventually.ts'
import {
  bearerOf,
  descriptor,
  digest,
  hostOf,
  imageFromManifest,
  type OciClient,
  ociClient,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
  types,
} from './support/registry/registry.ts'
import { type ProxiedRequest, startRegistryProxy } from './support/registry/registry-proxy.ts'
import { cleanups, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/**
 * The command line copies images between two servers, and through networks and registries that do not behave. On SQLite alone: what the
 * registry does is tested on every database elsewhere.
 */

const sqlite = { name: 'sqlite', open: undefined } as const
const MIB = 1024 * 1024

describe('berth images copy', () => {
  const cleanup = cleanups()
  let here: TestBerth
  let there: TestBerth
  let client: OciClient
  let foreign: OciClient
  before(async () => {
    ;[here, there] = await Promise.all([startTestBerth(sqlite), startTestBerth(sqlite)])
    client = ociClient(here, await bearerOf(here, here.owner))
    foreign = ociClient(there, await bearerOf(there, there.owner))
  })
  after(async () => {
    await cleanup.run()
    await Promise.all([here.stop(), there.stop()])
  })

  const inHere = () => `${here.organization}/${newName('repo')}`
  const inThere = () => `${there.organization}/${newName('repo')}`
  /** A command line that is signed in here, and whose Docker has the owner's credentials of other registries. */
  const signedInCli = (...hosts: string[]): CommandLine => {
    const cli = commandLine(cleanup, here.url, { BERTH_TOKEN: here.token })
    const auth = Buffer.from(`_token:${there.token}`).toString('base64')
    mkdirSync(join(cli.home, '.docker'))
    const auths = Object.fromEntries([hostOf(there), ...hosts].map((host) => [host, { auth }]))
    writeFileSync(join(cli.home, '.docker', 'config.json'), JSON.stringify({ auths }))
    return cli
  }
  /** Signs the command line in to a server, as `berth auth login` does. */
  const keepToken = (cli: CommandLine, { url, token }: TestBerth) => {
    const directory = join(cli.home, '.cache', 'berth', url.replaceAll('/', '-'))
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'oidc-token'), token)
  }
  const copied = async (cli: CommandLine, ...args: string[]) =>
    JSON.parse(await cli.ok(['images', 'copy', ...args, '--json']))
  const digestAt = async (at: OciClient, name: string, reference: string) => {
    const reply = await at.request('HEAD', `${name}/manifests/${reference}`)
    return reply.status === 200 ? reply.headers.get('docker-content-digest') : undefined
  }
  const indexOf = async (at: OciClient, name: string, tag: string, more: readonly object[] = []) => {
    const images = [testImage(), testImage({}, { architecture: 'arm64' })]
    for (const image of images) await pushImage(at, name, image)
    const platforms = ['amd64', 'arm64'].map((architecture) => ({ os: 'linux', architecture }))
    const manifests = images.map(({ descriptor }, at) => ({ ...descriptor, platform: platforms[at] }))
    const index = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [...manifests, ...more],
    })
    assert.equal((await putManifest(at, name, tag, index)).status, 201)
    return { index, images }
  }
  /** Something that refers to a manifest, as a signature does. */
  const refer = async (at: OciClient, name: string, subject: object, artifactType: string) => {
    const [config, layer] = [Buffer.from('{}'), Buffer.from(newName('signature'))]
    for (const blob of [config, layer]) await pushBlob(at, name, blob)
    const content = {
      ...{ schemaVersion: 2, mediaType: types.image, artifactType, subject },
      config: descriptor(types.empty, config),
      layers: [descriptor('application/x.signature', layer)],
    }
    const made = imageFromManifest(content)
    assert.equal((await putManifest(at, name, made.digest, made)).status, 201)
    return made
  }

  test('an index goes to another registry whole, is not copied twice, and comes for one platform', async () => {
    const cli = signedInCli()
    const [name, target] = [inHere(), inThere()]
    const { index, images } = await indexOf(client, name, '1.0')
    const destination = `${hostOf(there)}/${target}`
    const first = await copied(cli, `${name}:1.0`, `${destination}:new`)
    assert.equal(first.digest, index.digest)
    assert.deepEqual([first.tags, first.manifests, first.blobs, first.blobsThere], [['new'], 3, 4, 0])
    assert.equal(await digestAt(foreign, target, 'new'), index.digest)
    const again = await copied(cli, `${hostOf(here)}/${name}:1.0`, `${destination}:new`)
    assert.deepEqual([again.manifests, again.manifestsThere, again.blobs, again.bytes], [0, 1, 0, 0])
    // Another tag of what is there: not a blob is looked at.
    const named = await copied(cli, `${name}@${index.digest}`, `${destination}:other`)
    assert.deepEqual([named.manifests, named.blobs, named.blobsThere], [0, 0, 0])
    // Without a tag it has the one that it came with; by digest it has none.
    const arm = await copied(cli, `${name}:1.0`, `${hostOf(there)}/${inThere()}`, '--platform', 'linux/arm64')
    assert.deepEqual([arm.digest, arm.tags], [images[1]?.digest, ['1.0']])
    const bare = await copied(cli, `${name}@${index.digest}`, `${hostOf(there)}/${inThere()}`)
    assert.deepEqual(bare.tags, [])
    const none = await cli.run([
      'images',
      'copy',
      `${name}:1.0`,
      `${destination}:x`,
      '--platform',
      'linux/riscv64',
    ])
    assert.deepEqual(
      [none.code, none.stderr],
      [1, 'berth: the image has no platform linux/riscv64; available: linux/amd64, linux/arm64\n'],
    )
  })

  test('within a registry no layer is transferred, and all tags are copied together', async () => {
    const cli = signedInCli()
    const [name, target] = [inHere(), inHere()]
    for (const tag of ['a', 'b']) await pushImage(client, name, testImage(), tag)
    const all = await copied(cli, name, target, '--all-tags')
    assert.deepEqual([all.tags, all.blobs, all.blobsMounted], [['a', 'b'], 0, 4])
    assert.equal(await digestAt(client, target, 'b'), await digestAt(client, name, 'b'))
    // What was copied is reported when the rest fails.
    const elsewhere = inThere()
    for (const tag of ['a', 'b']) await pushImage(foreign, elsewhere, testImage(), tag)
    const breaking = await behind(({ request: { url = '' }, reply, pass }) => {
      if (url.endsWith('/manifests/b')) reply.writeHead(400).end()
      else pass()
    })
    const word = `${breaking.host}/${elsewhere}`
    const half = await breaking.cli.run(['images', 'copy', word, inHere(), '--all-tags', ...breaking.flags])
    assert.equal(half.code, 1)
    assert.match(half.stderr, /^copied before the failure: tags a\nberth: .* with status 400\n$/)
  })

  test('a tag keeps deprecated and its bundles between servers that have a profile', async () => {
    const cli = signedInCli()
    const [name, target] = [inHere(), inThere()]
    const destination = `${hostOf(there)}/${target}`
    await pushImage(client, name, testImage(), '1.0')
    const tagOf = async (berth: TestBerth, path: string) => {
      const api = apiOf(berth, berth.token)
      const { body } = await api.get('registry/repos', { name: path.split('/').at(-1) ?? '' })
      const repo: string = body.repos[0].uid
      const tags = (await api.get('registry/tags', { 'uidp.children_of': repo })).body.tags
      const { digest, deprecated, bundles } = tags[0]
      return { repo, digest, deprecated, bundles: bundles.toSorted() }
    }
    const mark = async (deprecated: boolean, bundles: readonly string[]) => {
      const { repo, digest } = await tagOf(here, name)
      await apiOf(here, here.token).create(`registry/tags/${repo}`, {
        name: '1.0',
        digest,
        deprecated,
        bundles,
      })
    }
    await mark(true, ['base', 'byol'])
    // Without a profile, the other server is a registry as any other.
    await copied(cli, `${name}:1.0`, destination)
    assert.equal((await tagOf(there, target)).deprecated, false)

    const profiles = { there: { api: there.url }, default: { api: here.url } }
    const config = join(cli.home, 'berth.yaml')
    writeFileSync(config, JSON.stringify({ profile: 'default', profiles }))
    const flags = ['--config', config]
    // A profile without a sign-in is a warning, and the image is copied.
    const other = `${hostOf(there)}/${inThere()}`
    const warned = await cli.run(['images', 'copy', `${name}:1.0`, other, ...flags])
    assert.equal(warned.code, 0, warned.stderr)
    assert.match(
      warned.stderr,
      /warning: deprecated and bundles of tag 1\.0 are not copied: you are not signed in to /,
    )

    keepToken(cli, there)
    // A tag that points to the image already keeps its own.
    await copied(cli, `${name}:1.0`, destination, ...flags)
    assert.equal((await tagOf(there, target)).deprecated, false)
    const next = inThere()
    await copied(cli, name, `${hostOf(there)}/${next}`, '--all-tags', ...flags)
    const { deprecated, bundles } = await tagOf(there, next)
    assert.deepEqual([deprecated, bundles], [true, ['base', 'byol']])
    // Back again: the tag that is moved gets those of the source.
    const back = inHere()
    await pushImage(client, back, testImage(), '1.0')
    await copied(cli, `${hostOf(there)}/${next}:1.0`, `${back}:1.0`, ...flags)
    assert.deepEqual((await tagOf(here, back)).bundles, ['base', 'byol'])
    // A digest is no tag, and has neither.
    const bare = inThere()
    await copied(cli, `${name}@${(await tagOf(here, name)).digest}`, `${hostOf(there)}/${bare}:1.0`, ...flags)
    assert.equal((await tagOf(there, bare)).deprecated, false)
  })

  test('what belongs to an image goes with it, and what belongs to that', async () => {
    const cli = signedInCli()
    const [name, target] = [inHere(), inThere()]
    const { index, images } = await indexOf(client, name, '1')
    const signature = await refer(client, name, index.descriptor, 'application/x.signature')
    const bill = await refer(client, name, images[0]?.descriptor ?? {}, 'application/x.bill')
    const signedBill = await refer(client, name, bill.descriptor, 'application/x.signature')
    const old = await pushImage(client, name, testImage(), `${index.digest.replace(':', '-')}.sig`)
    const destination = `${hostOf(there)}/${target}:1`
    assert.equal((await copied(cli, `${name}:1`, destination)).referrers, 0)
    assert.equal((await copied(cli, `${name}:1`, destination, '--referrers')).referrers, 4)
    for (const { digest } of [signature, bill, signedBill])
      assert.equal(await digestAt(foreign, target, digest), digest)
    assert.equal(await digestAt(foreign, target, `${index.digest.replace(':', '-')}.sig`), old.digest)
    const tree = await cli.ok(['images', 'referrers', destination, '-o', 'tree'])
    assert.match(tree, new RegExp(`^1 ${index.digest}\n[\\s\\S]*└ .*${old.digest}|${signature.digest}`))
    const ofBill = await cli.ok([
      'images',
      'referrers',
      `${hostOf(there)}/${target}@${images[0]?.digest}`,
      '-o',
      'id',
    ])
    assert.equal(ofBill, `${bill.digest}\n${signedBill.digest}\n`)
    assert.equal((await copied(cli, `${name}:1`, destination, '--referrers')).bytes, 0)
  })

  test('a directory is pulled to and pushed from, its signatures with it', async () => {
    const cli = signedInCli()
    const name = inHere()
    const { index, images } = await indexOf(client, name, '1')
    const signature = await refer(client, name, index.descriptor, 'application/x.signature')
    const directory = join(temporaryDirectory(cleanup), 'deep', 'layout')
    const pulled = JSON.parse(
      await cli.ok(['images', 'pull', `${name}:1`, `${directory}:1`, '--referrers', '--json']),
    )
    assert.deepEqual([pulled.digest, pulled.referrers], [index.digest, 1])
    for (const file of readdirSync(join(directory, 'blobs', 'sha256')))
      assert.equal(digest(readFileSync(join(directory, 'blobs', 'sha256', file))), `sha256:${file}`)
    assert.deepEqual(JSON.parse(readFileSync(join(directory, 'oci-layout'), 'utf8')), {
      imageLayoutVersion: '1.0.0',
    })
    const target = inThere()
    const word = `${hostOf(there)}/${target}:pushed`
    await cli.ok(['images', 'push', `${directory}:1`, word, '--referrers'])
    assert.equal(await digestAt(foreign, target, signature.digest), signature.digest)
    assert.equal(await cli.ok(['images', 'digest', word]), `${index.digest}\n`)
    // What is in the directory already is not fetched again; a second tag stands beside the first.
    const second = await copied(cli, `${name}:1`, `oci:${directory}:2`)
    assert.deepEqual([second.blobs, second.bytes], [0, 0])
    assert.equal(await cli.ok(['images', 'list', `oci:${directory}`, '-o', 'id']), '1\n2\n')
    // A file that was changed is not what its name says.
    const layer = digest(images[0]?.blobs[1] ?? '').slice('sha256:'.length)
    const path = join(directory, 'blobs', 'sha256', layer)
    writeFileSync(path, readFileSync(path).reverse())
    const damaged = await cli.run(['images', 'push', `${directory}:1`, inHere()])
    assert.equal(damaged.code, 1)
    assert.match(damaged.stderr, /the blob is damaged there and was not copied/)
    // Nor does its size make it one: it is fetched again.
    const other = join(temporaryDirectory(cleanup), 'other')
    mkdirSync(join(other, 'blobs', 'sha256'), { recursive: true })
    writeFileSync(join(other, 'blobs', 'sha256', layer), readFileSync(path))
    await cli.ok(['images', 'pull', `${name}:1`, other])
    assert.equal(digest(readFileSync(join(other, 'blobs', 'sha256', layer))), `sha256:${layer}`)
  })

  test('an image without a tag can be found in the directory that it was copied to', async () => {
    const cli = signedInCli()
    const name = inHere()
    const { index, images } = await indexOf(client, name, '1')
    const signature = await refer(client, name, index.descriptor, 'application/x.signature')
    const [first, second, third] = ['a', 'b', 'c'].map((at) => join(temporaryDirectory(cleanup), at))
    const entries = (directory = '') =>
      JSON.parse(readFileSync(join(directory, 'index.json'), 'utf8')).manifests
    for (let time = 0; time < 2; time += 1) {
      await cli.ok(['images', 'pull', `${name}@${index.digest}`, `${first}`])
      assert.deepEqual(entries(first), [{ ...index.descriptor, size: index.manifest.length }])
    }
    assert.equal(await cli.ok(['images', 'digest', `oci:${first}`]), `${index.digest}\n`)
    assert.ok(existsSync(join(first ?? '', 'oci-layout')))
    assert.equal((await copied(cli, `oci:${first}`, `oci:${second}`)).digest, index.digest)
    const pushed = inHere()
    await cli.ok(['images', 'push', `${second}`, `${pushed}:1`])
    assert.equal(await digestAt(client, pushed, '1'), index.digest)
    // With a name beside it, and what belongs to it, it still is the one image.
    await cli.ok(['images', 'pull', `${name}:1`, `${first}`, '--referrers'])
    assert.equal(await cli.ok(['images', 'digest', `oci:${first}`]), `${index.digest}\n`)
    assert.ok(JSON.stringify(entries(first)).includes(signature.digest))
    // A member of an index that is copied alone.
    const member = images[1]?.digest ?? ''
    await cli.ok(['images', 'pull', `${name}@${member}`, `${third}`])
    assert.equal(await cli.ok(['images', 'digest', `oci:${third}`]), `${member}\n`)
  })

  test('R34: a registry that names a foreign token service gets no credentials', async () => {
    let asked = 0
    const thief = await startRegistryProxy(cleanup, there.url, ({ reply }) => {
      asked += 1
      reply.writeHead(200, { 'content-type': 'application/json' }).end('{"token":"x"}')
    })
    for (const [realm, flags, says] of [
      [`http://${thief.host}/token`, [], /which is not trusted, so no credentials were sent/],
      [`http://user@${thief.host}/token`, [], /a token service with an unsupported URL/],
      ['http://registry.example.com/token', ['--token-host', 'registry.example.com'], /over plain http/],
      ['nowhere', [], /a token service with an invalid URL/],
    ] as const) {
      const liar = await startRegistryProxy(cleanup, there.url, ({ pass }) =>
        pass({
          headers: (headers) => {
            if (headers['www-authenticate'] !== undefined)
              headers['www-authenticate'] = `Bearer realm="${realm}",service="x"`
          },
        }),
      )
      const cli = signedInCli(liar.host)
      const { code, stderr } = await cli.run(['images', 'digest', `${liar.host}/${inThere()}:1`, ...flags])
      assert.equal(code, 1, stderr)
      assert.match(stderr, says)
      assert.deepEqual([asked, liar.seen.some(({ isKnown }) => isKnown)], [0, false])
    }
  })

  /** A registry whose tokens come from the real one behind it: a host that the person names. */
  const behind = async (handle: (passing: ProxiedRequest) => void) => {
    const proxy = await startRegistryProxy(cleanup, there.url, handle)
    return { ...proxy, cli: signedInCli(proxy.host), flags: ['--token-host', hostOf(there)] }
  }

  test('a damaged layer is found, and nothing of it is tagged', async () => {
    const image = testImage({}, { layerBytes: 2 * MIB })
    const name = inThere()
    await pushImage(foreign, name, image, '1')
    const damaging = await behind(({ request: { url = '' }, pass }) =>
      pass(
        url.endsWith(`/blobs/${digest(image.blobs[1] ?? '')}`)
          ? {
              answered: (bytes, at) => {
                if (at > MIB) bytes[0] = (bytes[0] ?? 0) ^ 1
                return bytes
              },
            }
          : {},
      ),
    )
    const target = inHere()
    const { code, stderr } = await damaging.cli.run([
      ...['images', 'copy', `${damaging.host}/${name}:1`, `${target}:1`, ...damaging.flags],
    ])
    assert.equal(code, 1, stderr)
    assert.match(stderr, /bytes with the digest sha256:.* the blob is damaged there and was not copied\n$/)
    assert.equal(await digestAt(client, target, '1'), undefined)
    assert.equal(
      (await client.request('HEAD', `${target}/blobs/${digest(image.blobs[1] ?? '')}`)).status,
      404,
    )
  })

  test('--keep-tags keeps a tag that is created while layers are copied; without it, the copy moves the tag', async () => {
    const image = testImage()
    const name = inThere()
    await pushImage(foreign, name, image, '1')
    for (const flags of [['--keep-tags'], []]) {
      const target = inHere()
      const meanwhile = testImage()
      let isPushed = false
      const slow = await behind(async ({ request: { url = '', method }, pass }) => {
        if (method === 'GET' && url.includes('/blobs/') && !isPushed) {
          isPushed = true
          await pushImage(client, target, meanwhile, '1')
        }
        pass()
      })
      const args = ['images', 'copy', `${slow.host}/${name}:1`, `${target}:1`, ...slow.flags, ...flags]
      const { code, stderr } = await slow.cli.run(args)
      const isKept = flags.length > 0
      assert.equal(code, isKept ? 1 : 0, stderr)
      if (isKept) assert.match(stderr, /tag 1 of .* points to sha256:\w+ and is kept\n$/)
      assert.equal(await digestAt(client, target, '1'), isKept ? meanwhile.digest : image.digest)
    }
  })

  test('a connection that breaks in the middle of a layer goes on where it broke, both ways', async () => {
    const image = testImage({}, { layerBytes: 6 * MIB })
    const layer = digest(image.blobs[1] ?? '')
    const name = inThere()
    await pushImage(foreign, name, image, '1')
    let breaks = 0
    const breaking = await behind(({ request: { url = '', method }, pass }) => {
      const isLayer = (method === 'GET' && url.endsWith(`/blobs/${layer}`)) || method === 'PATCH'
      const breakOff = (bytes: Buffer, at: number) => {
        if (at < 2 * MIB || breaks % 3 === 2) return bytes
        breaks += 1
        return undefined
      }
      if (!isLayer) pass()
      else {
        breaks += breaks % 3 === 2 ? 1 : 0
        pass(method === 'GET' ? { answered: breakOff } : { sent: breakOff })
      }
    })
    const target = inHere()
    const word = `${breaking.host}/${name}:1`
    const down = await copied(breaking.cli, word, `${target}:1`, ...breaking.flags)
    assert.equal(down.digest, image.digest)
    const ranges = breaking.seen.flatMap(({ range = '' }) => range || [])
    assert.ok(ranges.length > 0 && ranges.every((range) => /^bytes=\d{7,}-$/.test(range)), String(ranges))

    breaking.seen.length = 0
    const up = await copied(breaking.cli, `${target}:1`, `${breaking.host}/${inThere()}:1`, ...breaking.flags)
    assert.equal(up.digest, image.digest)
    const lines = breaking.seen.map(({ line }) => line.split(' ', 1)[0])
    assert.ok(lines.filter((method) => method === 'PATCH').length > 1, String(lines))
    const continued = breaking.seen.flatMap(({ contentRange = '' }) => contentRange || [])
    assert.ok(
      continued.length > 0 && continued.every((range) => /^\d{6,}-\d+$/.test(range)),
      String(continued),
    )
    assert.ok(breaks > 1)
  })

  test('a redirect to another host is followed without the token', async () => {
    const image = testImage({}, { layerBytes: 2 * MIB })
    const name = inThere()
    await pushImage(foreign, name, image, '1')
    const bytes = new Map(image.blobs.map((blob) => [digest(blob), blob]))
    const store = await startRegistryProxy(cleanup, there.url, ({ request: { url = '' }, reply }) => {
      reply.writeHead(200).end(bytes.get(url.slice(1)))
    })
    const redirecting = await behind(({ request: { url = '', method }, reply, pass }) => {
      const [, blob] = /\/blobs\/(sha256:\w+)$/.exec(url) ?? []
      if (method !== 'GET' || blob === undefined) return pass()
      reply.writeHead(307, { location: `http://${store.host}/${blob}` }).end()
    })
    const { digest: copy } = await copied(
      redirecting.cli,
      ...[`${redirecting.host}/${name}:1`, `${inHere()}:1`, ...redirecting.flags],
    )
    assert.equal(copy, image.digest)
    assert.equal(store.seen.length, 2)
    assert.ok(store.seen.every(({ isKnown }) => !isKnown))
    assert.ok(redirecting.seen.some(({ line, isKnown }) => line.includes('/blobs/') && isKnown))
  })

  test('a registry without referrers keeps them under a tag, to and fro', async () => {
    const old = await behind(({ request: { url = '' }, reply, pass }) => {
      if (url.includes('/referrers/')) return void reply.writeHead(404).end()
      pass({ headers: (headers) => delete headers['oci-subject'] })
    })
    const [name, target] = [inHere(), inThere()]
    const image = await pushImage(client, name, testImage(), '1')
    const one = await refer(client, name, image.descriptor, 'application/x.one')
    const two = await refer(client, name, image.descriptor, 'application/x.two')
    const word = `${old.host}/${target}:1`
    const out = await copied(old.cli, `${name}:1`, word, '--referrers', ...old.flags)
    assert.equal(out.referrers, 2)
    const list = await foreign.request('GET', `${target}/manifests/${image.digest.replace(':', '-')}`)
    assert.deepEqual(
      list.json.manifests.map(({ digest }: { digest: string }) => digest).sort(),
      [one.digest, two.digest].sort(),
    )
    const back = inHere()
    assert.equal((await copied(old.cli, word, back, '--referrers', ...old.flags)).referrers, 2)
    const { json } = await client.request('GET', `${back}/referrers/${image.digest}`)
    assert.equal(json.manifests.length, 2)
  })

  test('what is in a manifest may be of any type; what is no manifest is rejected', async () => {
    const cli = signedInCli()
    const name = inHere()
    const [config, layer] = [Buffer.from('anything'), Buffer.from(newName('chart'))]
    for (const blob of [config, layer]) await pushBlob(client, name, blob)
    const artifact = imageFromManifest({
      ...{ schemaVersion: 2, mediaType: types.image },
      config: descriptor('application/x.config', config),
      layers: [descriptor('text/x-layer; charset=utf-8', layer)],
    })
    await putManifest(client, name, '1', artifact)
    const word = `${hostOf(there)}/${inThere()}:1`
    assert.equal((await copied(cli, `${name}:1`, word)).digest, artifact.digest)
    const shown = JSON.parse(await cli.ok(['images', 'describe', word, '--json']))
    assert.equal(shown.images[0].layers[0].mediaType, 'text/x-layer; charset=utf-8')
    const other = Buffer.from(newName('anything'))
    await pushBlob(client, name, other)
    const { index } = await indexOf(client, name, 'mixed', [descriptor('application/x.other', other)])
    const mixed = await copied(cli, `${name}:mixed`, word)
    assert.deepEqual([mixed.digest, mixed.blobs], [index.digest, 5])
    // Tags that are none lead nowhere.
    const liar = await startRegistryProxy(cleanup, there.url, ({ reply }) => {
      reply.writeHead(200, { 'content-type': 'application/json' }).end('{"tags":["../../x","a b","ok"]}')
    })
    assert.equal(await cli.ok(['images', 'list', `${liar.host}/a/b`, '-o', 'id']), 'ok\n')
    const strange = await startRegistryProxy(cleanup, there.url, ({ reply }) => {
      const type = 'application/vnd.docker.distribution.manifest.v1+prettyjws'
      reply.writeHead(200, { 'content-type': type }).end('{"schemaVersion":1,"fsLayers":[]}')
    })
    const { code, stderr } = await cli.run(['images', 'copy', `${strange.host}/a/b:1`, inHere()])
    assert.equal(code, 1)
    assert.match(stderr, /it has schema version 1, which is obsolete since 2017/)
  })

  test('a registry that is busy is asked again, when it says so', async () => {
    const [name, target] = [inHere(), inThere()]
    const image = await pushImage(client, name, testImage(), '1')
    const refused = new Set<string>()
    const busy = await behind(({ request: { url = '', method }, reply, pass }) => {
      const first = !refused.has(`${method} ${url.split('?')[0]}`)
      refused.add(`${method} ${url.split('?')[0]}`)
      if (!first) return pass()
      reply.writeHead(refused.size % 2 === 0 ? 429 : 503, { 'retry-after': '0' }).end()
    })
    const { digest: copy } = await copied(busy.cli, `${name}:1`, `${busy.host}/${target}:1`, ...busy.flags)
    assert.equal(copy, image.digest)
    assert.equal(await digestAt(foreign, target, '1'), image.digest)
    const always = await behind(({ reply }) => reply.writeHead(503, { 'retry-after': '0' }).end())
    const given = await always.cli.run(['images', 'digest', `${always.host}/${target}:1`])
    assert.equal(given.code, 3)
    assert.match(given.stderr, /responded to GET \S+ with status 503/)
  })

  test('how far it is is shown on a terminal, and only there', { skip: withoutTerminal }, async () => {
    const cli = signedInCli()
    const name = inHere()
    await pushImage(client, name, testImage({}, { layerBytes: 8 * MIB }), '1')
    const destination = `${hostOf(there)}/${inThere()}:1`
    const seen = await runInTerminal(cli, ['images', 'copy', `${name}:1`, destination])
    assert.equal(seen.code, 0)
    assert.match(seen.raw, /\[[#.]{24}\] +\d+% \S+ [KM]?i?B of 8\.0 MiB, \S+ [KM]?i?B\/s/)
    const { stderr } = await cli.run(['images', 'copy', `${name}:1`, `${destination}-2`])
    assert.equal(stderr, '')
  })

  test('Ctrl-C ends a copy: no tag, no upload left, and the next one goes on', async () => {
    const image = testImage({}, { layerBytes: 4 * MIB })
    const name = inThere()
    await pushImage(foreign, name, image, '1')
    let isSlow = true
    const layer = `/blobs/${digest(image.blobs[1] ?? '')}`
    const slow = await behind(({ request: { url = '' }, pass }) => {
      if (!isSlow || !url.endsWith(layer)) return pass()
      pass({ answered: (bytes, at) => (at > MIB ? Buffer.alloc(0) : bytes) })
    })
    const target = inHere()
    const args = ['images', 'copy', `${slow.host}/${name}:1`, `${target}:1`, ...slow.flags]
    const running = slow.cli.start([...args, '--log-level', 'debug'])
    await eventually(() => new RegExp(`GET \\S+${layer} 200`).test(running.output().stderr))
    running.child.kill('SIGINT')
    const { code, stderr, stdout } = await running.finished
    assert.deepEqual([code, stdout], [130, ''], stderr)
    assert.match(stderr, /stopped; unfinished operations changed no tags\n$/)
    assert.match(stderr, /DELETE \S+\/blobs\/uploads\/\S+ 204/)
    assert.equal(await digestAt(client, target, '1'), undefined)
    isSlow = false
    assert.equal((await slow.cli.run(args)).code, 0)
    assert.equal(await digestAt(client, target, '1'), image.digest)
  })

  test('credentials come from Docker’s helpers; who has none hears where to get them', async () => {
    const name = inThere()
    const image = await pushImage(foreign, name, testImage(), '1')
    const cli = commandLine(cleanup, here.url, { BERTH_TOKEN: here.token })
    const word = `${hostOf(there)}/${name}:1`
    const refused = await cli.run(['images', 'digest', word])
    assert.equal(refused.code, 1, refused.stderr)
    assert.match(refused.stderr, new RegExp(`sign in to it with Docker: docker login ${hostOf(there)}\n$`))
    const bin = join(cli.home, 'bin')
    mkdirSync(bin)
    const helper = join(bin, 'docker-credential-test')
    const answer = JSON.stringify({ ServerURL: hostOf(there), Username: '_token', Secret: there.token })
    writeFileSync(
      helper,
      `#!/bin/sh\nread server\n[ "$1 $server" = "get ${hostOf(there)}" ] && echo '${answer}'\n`,
    )
    chmodSync(helper, 0o755)
    mkdirSync(join(cli.home, '.docker'))
    const env = { PATH: `${bin}:${process.env['PATH']}` }
    for (const config of [{ credsStore: 'test' }, { credHelpers: { [hostOf(there)]: 'test' } }]) {
      writeFileSync(join(cli.home, '.docker', 'config.json'), JSON.stringify(config))
      assert.equal(await cli.ok(['images', 'digest', word], { env }), `${image.digest}\n`)
    }
    writeFileSync(join(cli.home, '.docker', 'config.json'), JSON.stringify({ credsStore: '../../bin/sh' }))
    assert.equal((await cli.run(['images', 'digest', word], { env })).code, 2)
    // Signed out here too.
    rmSync(join(cli.home, '.docker'), { recursive: true })
    const signedOut = await cli.run(['images', 'digest', `${inHere()}:1`], { env: { BERTH_TOKEN: '' } })
    assert.equal(signedOut.code, 4, signedOut.stderr)
    assert.match(signedOut.stderr, /sign in with berth auth login/)
    assert.equal(existsSync(join(cli.home, '.cache')), false)
  })
})
