import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { ComponentGraph_Edge_Type } from '@berth/contract/gen/chainguard/platform/tenant/reports_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { READER_VERSION } from '@berth/server/contents/storing/stored-contents.ts'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { type Api, onEveryStore } from '../support/api/api-fixture.ts'
import { policiesOf } from '../support/api/policies.ts'
import { call } from '../support/api/rest.ts'
import { eventually } from '../support/eventually.ts'
import { openvex, VEX } from '../support/findings/image-findings.ts'
import {
  alpineFiles,
  attach,
  cycloneDxWithRelations,
  imageOfFiles,
  imageOfLayers,
  repoUid,
  spdxDocument,
  waitForContents,
} from '../support/images/readable-image.ts'
import {
  createRegistryFixture,
  descriptor,
  digest,
  imageFromManifest,
  pushImage,
  putManifest,
  types,
} from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'

const SPDX = 'application/spdx+json'
const DSSE = 'application/vnd.dsse.envelope.v1+json'

function envelopeOf(statement: unknown): Buffer {
  const payload = Buffer.from(JSON.stringify(statement)).toString('base64')
  return Buffer.from(
    JSON.stringify({ payloadType: 'application/vnd.in-toto+json', payload, signatures: [{ sig: 'c2ln' }] }),
  )
}

function attestationOf(image: string, document: Buffer) {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'image', digest: { sha256: image.replace('sha256:', '') } }],
    predicateType: 'https://spdx.dev/Document',
    predicate: JSON.parse(document.toString()),
  }
}

async function packagesOf(api: Api, repo: string, reference: string, query: Record<string, string> = {}) {
  const { status, body, text } = await api.get(
    `registry/repos/${repo}/manifests/${reference}/packages`,
    query,
  )
  assert.equal(status, 200, text)
  return body
}

const namesIn = (body: { packages: { name: string; version: string }[] }) =>
  body.packages.map(({ name, version }) => `${name} ${version}`)

const ALPINE_ENDS = '2026-04-01T00:00:00.000Z'

onEveryStore(
  'image contents',
  (cast) => {
    const fixture = async () => {
      const registry = await createRegistryFixture(cast())
      return { ...registry, api: registry.organization.owner.api }
    }

    test('the layers of a pushed image are read', async () => {
      const { owner, name, api } = await fixture()
      const image = await imageOfFiles([
        alpineFiles('musl 1.2.5-r0', 'zlib 1.3.1-r1'),
        {
          'app/node_modules/left-pad/package.json': '{"name":"left-pad","version":"1.3.0","license":"WTFPL"}',
        },
      ])
      await pushImage(owner, name, image, 'v1')
      const repo = await repoUid(api, name)
      const contents = await waitForContents(api, repo, 'v1')
      const { readTime, ...rest } = contents
      assert.ok(readTime)
      assert.deepEqual(rest, {
        digest: image.digest,
        state: 'CONTENTS_STATE_READ',
        reason: '',
        source: 'CONTENTS_SOURCE_LAYERS',
        sbomFormat: '',
        distribution: {
          id: 'alpine',
          version: '3.20.1',
          name: 'Alpine Linux v3.20',
          endOfLifeTime: ALPINE_ENDS,
        },
        packageCount: 3,
        typeCounts: [
          { type: 'apk', count: 2 },
          { type: 'npm', count: 1 },
        ],
        problems: [],
      })
      const all = await packagesOf(api, repo, image.digest)
      assert.deepEqual(namesIn(all), ['left-pad 1.3.0', 'musl 1.2.5-r0', 'zlib 1.3.1-r1'])
      assert.deepEqual(
        { ...all.packages[1], layer: undefined },
        {
          purl: 'pkg:apk/alpine/musl@1.2.5-r0?arch=x86_64&distro=alpine-3.20.1&upstream=musl-src',
          type: 'apk',
          namespace: 'alpine',
          name: 'musl',
          version: '1.2.5-r0',
          architecture: 'x86_64',
          originName: 'musl-src',
          originVersion: '1.2.5-r0',
          license: 'MIT',
          path: 'lib/apk/db/installed',
          layer: undefined,
          endOfLifeTime: ALPINE_ENDS,
        },
      )
      assert.equal(all.packages[0].endOfLifeTime, undefined)
    })

    test('packages have the time of their build, and the end of life that their image states', async () => {
      const { owner, name, api } = await fixture()
      const image = await imageOfFiles([
        {
          'etc/os-release': 'ID=mine\nVERSION_ID=1\nSUPPORT_END=2031-02-03\n',
          'lib/apk/db/installed': 'P:musl\nV:1.2.5-r0\nA:x86_64\nt:1700000000\n\n',
        },
      ])
      await pushImage(owner, name, image, 'v1')
      const repo = await repoUid(api, name)
      const { distribution } = await waitForContents(api, repo, 'v1')
      const endOfLifeTime = '2031-02-03T00:00:00.000Z'
      assert.deepEqual(distribution, { id: 'mine', version: '1', name: '', endOfLifeTime })
      const { packages } = await packagesOf(api, repo, 'v1')
      assert.equal(packages[0].endOfLifeTime, endOfLifeTime)
      assert.equal(packages[0].buildTime, '2023-11-14T22:13:20.000Z')
      const { body } = await api.get(`registry/repos/${repo}/manifests/v1/sbom`, {
        format: 'SBOM_FORMAT_SPDX',
      })
      assert.match(body.sbom, /"validUntilDate": ?"2031-02-03T00:00:00Z"/)
    })

    test('the end of life for a policy is that of the release, else what the image states', async () => {
      const { name, root, api, owner } = await fixture()
      const policies = policiesOf(cast().berth, api.token)
      await policies.bind(root, 'end-of-life', {})
      const system = (id: string, version: string, end: string) => ({
        'etc/os-release': `ID=${id}\nVERSION_ID=${version}\n${end === '' ? '' : `SUPPORT_END=${end}\n`}`,
        'lib/apk/db/installed': `P:${id}-${version}-${end}\nV:1\n\n`,
      })
      const cases = [
        ['own', '1', '2001-02-03', /the end of life of own:1 is 2001-02-03/],
        ['own', '2', '2099-02-03', undefined],
        ['own', '3', '', /that of own:3 is not known/],
        // An image cannot extend what the distribution published.
        ['debian', '10', '2099-02-03', /the end of life of debian:10 is 2024-06-30/],
      ] as const
      for (const [id, version, end, reason] of cases) {
        const tag = `${id}-${version}`
        await pushImage(owner, name, await imageOfFiles([system(id, version, end)]), tag)
        await waitForContents(api, await repoUid(api, name), tag)
        const reply = await owner.request('GET', `${name}/manifests/${tag}`)
        assert.equal(reply.status, reason === undefined ? 200 : 403, tag)
        if (reason !== undefined) assert.match(reply.json.errors[0].message, reason)
      }
    })

    test('packages are filtered, ordered and paged', async () => {
      const { owner, name, api } = await fixture()
      await pushImage(
        owner,
        name,
        await imageOfFiles([alpineFiles('a 1-r0', 'ab 1-r0', 'b 2-r0', 'c 1-r0')]),
        'v1',
      )
      const repo = await repoUid(api, name)
      await waitForContents(api, repo, 'v1')
      const list = async (query: Record<string, string>) => namesIn(await packagesOf(api, repo, 'v1', query))
      assert.deepEqual(await list({ name_prefix: 'a' }), ['a 1-r0', 'ab 1-r0'])
      assert.deepEqual(await list({ type: 'npm' }), [])
      assert.deepEqual(await list({ license: 'mit', order_by: 'name desc', page_size: '1' }), ['c 1-r0'])
      const found: string[] = []
      for (let token = ''; ; ) {
        const page = await packagesOf(api, repo, 'v1', { page_size: '3', page_token: token })
        assert.equal(page.totalCount, '4')
        found.push(...namesIn(page))
        token = page.nextPageToken
        if (token === '') break
      }
      assert.deepEqual(found, ['a 1-r0', 'ab 1-r0', 'b 2-r0', 'c 1-r0'])
      for (const [query, field] of [
        [{ order_by: 'purl' }, 'order_by'],
        [{ page_size: '-1' }, 'page_size'],
        [{ license: 'x'.repeat(limits.contentsFieldCharsMax + 1) }, 'license'],
        [{ platform: 'Linux/../x' }, 'platform'],
      ] as const) {
        const { status, text } = await api.get(`registry/repos/${repo}/manifests/v1/packages`, query)
        assert.equal(status, 400, text)
        assert.match(text, new RegExp(field))
      }
    })

    test('an SBOM that is attached later replaces the layers, and its deletion restores them', async () => {
      const { owner, name, api } = await fixture()
      const image = await imageOfFiles([alpineFiles('musl 1.2.5-r0')])
      await pushImage(owner, name, image, 'v1')
      const repo = await repoUid(api, name)
      await waitForContents(api, repo, 'v1')
      const document = spdxDocument('pkg:npm/from-sbom@2.0.0')
      const sbom = await attach(owner, name, image, SPDX, document)
      const attached = await waitForContents(api, repo, 'v1', ({ source }) =>
        source.endsWith('ATTACHED_SBOM'),
      )
      assert.equal(attached.packageCount, 1)
      assert.deepEqual(namesIn(await packagesOf(api, repo, 'v1')), ['from-sbom 2.0.0'])
      const given = await api.get(`registry/repos/${repo}/manifests/v1/sbom`)
      assert.deepEqual(given.body, { digest: image.digest, format: 'spdx-2.3', sbom: document.toString() })
      const { state } = await waitForContents(api, repo, sbom.digest)
      assert.equal(state, 'CONTENTS_STATE_NOT_AN_IMAGE')

      assert.equal((await owner.request('DELETE', `${name}/manifests/${sbom.digest}`)).status, 202)
      await waitForContents(api, repo, 'v1', ({ source }) => source.endsWith('LAYERS'))
      assert.deepEqual(namesIn(await packagesOf(api, repo, 'v1')), ['musl 1.2.5-r0'])
      assert.equal((await api.get(`registry/repos/${repo}/manifests/v1/sbom`)).status, 404)
    })

    test('CycloneDX with vulnerabilities and no components is no list of packages', async () => {
      const { owner, name, api } = await fixture()
      const image = await imageOfFiles([alpineFiles('musl 1.2.5-r0')])
      const report = {
        bomFormat: 'CycloneDX',
        specVersion: '1.6',
        vulnerabilities: [{ id: 'CVE-2026-0001' }],
      }
      await attach(owner, name, image, 'application/vnd.cyclonedx+json', Buffer.from(JSON.stringify(report)))
      await pushImage(owner, name, image, 'v1')
      const repo = await repoUid(api, name)
      const { source } = await waitForContents(api, repo, 'v1')
      assert.equal(source, 'CONTENTS_SOURCE_LAYERS')
      assert.deepEqual(namesIn(await packagesOf(api, repo, 'v1')), ['musl 1.2.5-r0'])
    })

    test('attestations count for the image that they name: by cosign tag, and of buildkit', async () => {
      const { owner, name, api } = await fixture()
      const [named, other] = [
        await imageOfFiles([alpineFiles('a 1-r0')]),
        await imageOfFiles([alpineFiles('b 1-r0')]),
      ]
      const statement = attestationOf(named.digest, spdxDocument('pkg:npm/attested@1.0.0'))
      const config = Buffer.from('{}')
      const cosign = envelopeOf(statement)
      const attestation = {
        blobs: [config, cosign],
        ...imageFromManifest({
          schemaVersion: 2,
          mediaType: types.image,
          config: descriptor(types.config, config),
          layers: [descriptor(DSSE, cosign)],
        }),
      }
      for (const image of [named, other]) {
        await pushImage(owner, name, image)
        await pushImage(owner, name, attestation, `${image.digest.replace(':', '-')}.att`)
      }
      const repo = await repoUid(api, name)
      await waitForContents(api, repo, named.digest, ({ source }) => source.endsWith('ATTACHED_SBOM'))
      assert.equal((await waitForContents(api, repo, other.digest)).source, 'CONTENTS_SOURCE_LAYERS')

      const built = await imageOfFiles([alpineFiles('c 1-r0')], { architecture: 'arm64' })
      const inToto = Buffer.from(
        JSON.stringify(attestationOf(built.digest, spdxDocument('pkg:npm/built@1.0.0'))),
      )
      const buildkit = {
        blobs: [config, inToto],
        ...imageFromManifest({
          schemaVersion: 2,
          mediaType: types.image,
          config: descriptor(types.config, config),
          layers: [
            descriptor('application/vnd.in-toto+json', inToto, {
              annotations: { 'in-toto.io/predicate-type': 'https://spdx.dev/Document' },
            }),
          ],
        }),
      }
      await pushImage(owner, name, built)
      await pushImage(owner, name, buildkit)
      const index = imageFromManifest({
        schemaVersion: 2,
        mediaType: types.index,
        manifests: [
          { ...built.descriptor, platform: { os: 'linux', architecture: 'arm64' } },
          {
            ...buildkit.descriptor,
            platform: { os: 'unknown', architecture: 'unknown' },
            annotations: {
              'vnd.docker.reference.type': 'attestation-manifest',
              'vnd.docker.reference.digest': built.digest,
            },
          },
        ],
      })
      assert.equal((await putManifest(owner, name, 'multi', index)).status, 201)
      await waitForContents(api, repo, 'multi', ({ source }) => source.endsWith('ATTACHED_SBOM'))
      const body = await packagesOf(api, repo, 'multi', { platform: 'linux/arm64' })
      assert.deepEqual([namesIn(body), body.digest], [['built 1.0.0'], built.digest])
      const wrong = await api.get(`registry/repos/${repo}/manifests/multi/packages`, {
        platform: 'linux/s390x',
      })
      assert.equal(wrong.status, 404, wrong.text)
      const written = await api.get(`registry/repos/${repo}/manifests/multi/sbom`)
      assert.equal(JSON.parse(written.body.sbom).packages[0].name, 'built')
    })

    test('SBOMs of both formats are written, and two images are compared', async () => {
      const { owner, name, api } = await fixture()
      await pushImage(owner, name, await imageOfFiles([alpineFiles('a 1-r0', 'b 1-r0')]), 'v1')
      await pushImage(owner, name, await imageOfFiles([alpineFiles('b 2-r0', 'c 1-r0')]), 'v2')
      const repo = await repoUid(api, name)
      for (const tag of ['v1', 'v2']) await waitForContents(api, repo, tag)
      const sbomOf = async (format: string) =>
        (await api.get(`registry/repos/${repo}/manifests/v1/sbom`, { format })).body
      const spdx = await sbomOf('SBOM_FORMAT_SPDX')
      assert.deepEqual([spdx.format, JSON.parse(spdx.sbom).spdxVersion], ['spdx-2.3', 'SPDX-2.3'])
      const cyclonedx = await sbomOf('SBOM_FORMAT_CYCLONEDX')
      assert.deepEqual([cyclonedx.format, JSON.parse(cyclonedx.sbom).specVersion], ['cyclonedx-1.6', '1.6'])
      const { body } = await api.get(`registry/repos/${repo}/manifests/v1/packages:compare`, {
        other_reference: 'v2',
      })
      assert.deepEqual(
        [
          namesIn({ packages: body.added }),
          namesIn({ packages: body.removed }),
          body.changed.map((change: object) => ({ ...change, namespace: undefined })),
        ],
        [
          ['c 1-r0'],
          ['a 1-r0'],
          [{ type: 'apk', namespace: undefined, name: 'b', versions: ['1-r0'], otherVersions: ['2-r0'] }],
        ],
      )
    })

    test('images are found by their packages, in the group of the caller only', async () => {
      const { owner, name, api, root } = await fixture()
      const stranger = await fixture()
      const image = await imageOfFiles([alpineFiles('musl 1.2.5-r0')])
      await pushImage(owner, name, image, 'v1')
      await pushImage(owner, `${name}-2`, await imageOfFiles([alpineFiles('musl 1.2.4-r0')]), 'old')
      await pushImage(stranger.owner, stranger.name, image, 'theirs')
      const repo = await repoUid(api, name)
      for (const [reader, uid, tag] of [
        [api, repo, 'v1'],
        [api, await repoUid(api, `${name}-2`), 'old'],
        [stranger.api, await repoUid(stranger.api, stranger.name), 'theirs'],
      ] as const)
        await waitForContents(reader, uid, tag)
      const find = async (query: Record<string, string>, uid = root) => {
        const { body, status, text } = await api.get(`registry/package_images/${uid}`, query)
        assert.equal(status, 200, text)
        assert.equal(Number(body.totalCount), body.images.length)
        return body.images.flatMap(({ tags }: { tags: string[] }) => tags).sort()
      }
      assert.deepEqual(await find({ purl: 'pkg:apk/alpine/musl' }), ['old', 'v1'])
      assert.deepEqual(await find({ purl: 'pkg:apk/alpine/musl@1.2.5-r0?arch=x86_64' }), ['v1'])
      assert.deepEqual(await find({ name: 'musl-src', version: '1.2.4-r0' }), ['old'])
      assert.deepEqual(await find({ name: 'musl' }, repo), ['v1'])
      assert.deepEqual(await find({ purl: 'pkg:deb/debian/musl' }), [])
      const page = await api.get(`registry/package_images/${root}`, { name: 'musl', page_size: '1' })
      const next = await api.get(`registry/package_images/${root}`, {
        name: 'musl',
        page_size: '1',
        page_token: page.body.nextPageToken,
      })
      assert.notEqual(page.body.images[0].repoUid, next.body.images[0].repoUid)
      const sorted = Array.from({ length: 20 }, (_, at) => `b${at + 10}`)
      for (const tag of sorted.toReversed()) await pushImage(owner, `${name}-2`, image, tag)
      const second = await repoUid(api, `${name}-2`)
      await waitForContents(api, second, 'b10')
      const { body: tagged } = await api.get(`registry/package_images/${second}`, {
        name: 'musl',
        version: '1.2.5-r0',
      })
      assert.deepEqual(tagged.images[0].tags, sorted)
      for (const query of [{}, { purl: 'musl' }, { version: '1' }])
        assert.equal((await api.get(`registry/package_images/${root}`, query)).status, 400)

      const path = `registry/repos/${repo}/manifests/${image.digest}`
      for (const foreign of [
        `registry/package_images/${root}?name=musl`,
        `${path}/contents`,
        `${path}/packages`,
        `${path}/sbom`,
      ])
        assert.equal((await stranger.api.get(foreign)).status, 403, foreign)
      assert.equal((await stranger.api.post(`${path}/contents:readAgain`, {})).status, 403)
      const compared = await stranger.api.get(
        `registry/repos/${await repoUid(stranger.api, stranger.name)}/manifests/theirs/packages:compare`,
        { other_uid: repo, other_reference: 'v1' },
      )
      assert.equal(compared.status, 403, compared.text)
    })

    test('what is known is deleted with the manifest, and with the repo', async () => {
      const { owner, name, api, root } = await fixture()
      const [first, second] = [
        await imageOfFiles([alpineFiles('a 1-r0')]),
        await imageOfFiles([alpineFiles('b 1-r0')]),
      ]
      await pushImage(owner, name, first)
      await pushImage(owner, name, second)
      const repo = await repoUid(api, name)
      for (const image of [first, second]) {
        await waitForContents(api, repo, image.digest)
        const statement = { vulnerability: { name: 'CVE-2024-0001' }, status: 'fixed' }
        await attach(owner, name, image, VEX, openvex(statement))
      }
      const { kysely } = cast().berth.berth.installation.store.db
      const count = async () => {
        const counts: number[] = []
        for (const table of [
          'manifest_contents',
          'manifest_packages',
          'manifest_documents',
          'image_statements',
        ] as const)
          counts.push((await kysely.selectFrom(table).selectAll().where('root', '=', root).execute()).length)
        return counts
      }
      // The manifests of the VEX documents are contents too, of no package.
      await eventually(count, (counts) => isDeepStrictEqual(counts, [4, 2, 4, 2]))
      await owner.request('DELETE', `${name}/manifests/${first.digest}`)
      assert.deepEqual(await count(), [3, 1, 2, 1])
      assert.equal((await api.delete(`registry/repos/${repo}`)).status, 200)
      assert.deepEqual(await count(), [0, 0, 0, 0])
    })

    test('a layer that is no archive is a problem of the image, and never of its push', async () => {
      const { owner, name, api } = await fixture()
      const image = imageOfLayers([randomBytes(1000)])
      await pushImage(owner, name, image, 'v1')
      const repo = await repoUid(api, name)
      const { state, problems } = await waitForContents(api, repo, 'v1')
      assert.equal(state, 'CONTENTS_STATE_READ')
      assert.ok(problems.length > 0)
      const broken = await attach(
        owner,
        name,
        image,
        SPDX,
        Buffer.from('{"spdxVersion": "SPDX-2.3", "packages": 1'),
      )
      const after = await waitForContents(api, repo, 'v1', (contents) => contents.problems.length > 1)
      assert.match(
        after.problems[0]?.reason ?? '',
        new RegExp(digest('{"spdxVersion": "SPDX-2.3", "packages": 1')),
      )
      assert.ok(broken.digest)
    })

    test('of many problems the first are stored, and that there are more', async () => {
      const { owner, name, api } = await fixture()
      const files = Array.from({ length: limits.contentsProblemsMax + 5 }, (_, at) => [
        `${at}/package.json`,
        '[',
      ])
      await pushImage(owner, name, await imageOfFiles([Object.fromEntries(files)]), 'v1')
      const { problems } = await waitForContents(api, await repoUid(api, name), 'v1')
      assert.equal(problems.length, limits.contentsProblemsMax)
      assert.deepEqual(problems.at(-1), {
        path: '',
        reason: 'at least 6 further problems are not listed (contentsProblemsMax)',
      })
    })

    test('an image is read again on demand, by callers who may change manifests', async () => {
      const { owner, name, api, member } = await fixture()
      await pushImage(owner, name, await imageOfFiles([alpineFiles('a 1-r0')]), 'v1')
      const repo = await repoUid(api, name)
      const { readTime } = await waitForContents(api, repo, 'v1')
      const path = `registry/repos/${repo}/manifests/v1/contents:readAgain`
      const viewer = await member('viewer')
      assert.equal((await viewer.api.get(`registry/repos/${repo}/manifests/v1/packages`)).status, 200)
      assert.equal((await viewer.api.post(path, {})).status, 403)
      const { status, body } = await api.post(path, {})
      assert.deepEqual([status, body.state, body.packageCount], [200, 'CONTENTS_STATE_PENDING', 1])
      await waitForContents(api, repo, 'v1', (contents) => contents.readTime !== readTime)
    })

    test('images that an earlier version of the reader read, or could not read, are read again', async () => {
      const { owner, name, api, root } = await fixture()
      await pushImage(owner, name, await imageOfFiles([alpineFiles('a 1-r0')]), 'v1')
      await pushImage(owner, name, await imageOfFiles([alpineFiles('b 1-r0')]), 'v2')
      const repo = await repoUid(api, name)
      const first = await waitForContents(api, repo, 'v1')
      const second = await waitForContents(api, repo, 'v2')
      const { kysely } = cast().berth.berth.installation.store.db
      const stored = kysely
        .updateTable('manifest_contents')
        .where('root', '=', root)
        .where('state', '=', 'read')
      await stored
        .set({ state: 'failed', reason: 'of a limit', reader: 0 })
        .where('digest', '=', second.digest)
        .execute()
      await stored.set({ packages: 7, reader: 1 }).where('digest', '=', first.digest).execute()
      const states = new Set<string>()
      const again = await waitForContents(api, repo, 'v1', ({ state, readTime }) => {
        states.add(state)
        return readTime !== first.readTime
      })
      assert.equal(again.packageCount, 1)
      assert.deepEqual([...states], ['CONTENTS_STATE_READ'])
      const { packageCount } = await waitForContents(api, repo, 'v2', ({ state }) => {
        assert.notEqual(state, 'CONTENTS_STATE_PENDING')
        return state === 'CONTENTS_STATE_READ'
      })
      assert.equal(packageCount, 1)
      const rows = await kysely.selectFrom('manifest_contents').selectAll().where('root', '=', root).execute()
      assert.deepEqual(
        rows.map(({ reader }) => Number(reader)),
        rows.map(() => READER_VERSION),
      )
    })

    test('version 1 returns SBOMs, packages and counts', async () => {
      const { owner, name, api, root } = await fixture()
      const image = await imageOfFiles([alpineFiles('musl 1.2.5-r0')])
      await pushImage(owner, name, image, 'v1')
      const repo = await repoUid(api, name)
      await waitForContents(api, repo, 'v1')
      const get = async (path: string) => {
        const { status, body, text } = await call('GET', `${cast().berth.url}/registry/v1/${path}`, {
          token: api.token,
        })
        assert.equal(status, 200, text)
        return body
      }
      const sbom = await get(`repos/${repo}/digests/${image.digest}/sbom`)
      assert.deepEqual(
        [sbom.digest, sbom.format, sbom.source, sbom.graph.nodes[0].package.name],
        [image.digest, 'spdx-2.3', 'GENERATED', 'musl'],
      )
      assert.equal(JSON.parse(Buffer.from(sbom.rawSbom, 'base64').toString()).spdxVersion, 'SPDX-2.3')
      await attach(owner, name, image, SPDX, spdxDocument('pkg:npm/given@1.0.0'))
      await waitForContents(api, repo, 'v1', ({ source }) => source.endsWith('ATTACHED_SBOM'))
      const given = await get(`repos/${repo}/digests/${image.digest}/sbom`)
      assert.deepEqual(
        [given.source, given.name, given.tool, given.authors, given.generatedAt],
        ['INGESTED', 'image', 'test 1', '', '2026-01-01T00:00:00.000Z'],
      )
      const raw = await get(`repos/${repo}/digest/${image.digest}/rawsbom`)
      assert.equal(raw.rawSbom, spdxDocument('pkg:npm/given@1.0.0').toString())
      assert.deepEqual(await get(`digestcount/${root}`), { count: '2' })
      const { items } = await get(`repos/${repo}/manifestmetdata`)
      assert.deepEqual(items, [])
    })

    test('version 1 returns how the packages of an attached SBOM relate', async () => {
      const { owner, name, api } = await fixture()
      const image = await imageOfFiles([alpineFiles('musl 1.2.5-r0')])
      await pushImage(owner, name, image, 'v1')
      const document = cycloneDxWithRelations()
      await attach(owner, name, image, 'application/vnd.cyclonedx+json', document)
      const repo = await repoUid(api, name)
      await waitForContents(api, repo, 'v1', ({ source }) => source.endsWith('ATTACHED_SBOM'))
      const sbom = await cast().grpc.call(
        Registry.method.getSbom,
        { repoId: repo, digest: image.digest },
        { token: api.token },
      )
      assert.deepEqual([sbom.name, sbom.authors], ['app', 'Jo, Example Ltd'])
      const { CONTAINS, DEPENDS_ON } = ComponentGraph_Edge_Type
      assert.deepEqual(
        sbom.graph?.nodes.map((node) => node.package?.id),
        [image.digest, 'pkg:npm/a@1.0.0', 'pkg:npm/b@2.0.0'],
      )
      assert.deepEqual(
        sbom.graph?.edges.map(({ subjectId, predicateId, type }) => [subjectId, type, predicateId]),
        [
          ['pkg:npm/a@1.0.0', CONTAINS, 'pkg:npm/b@2.0.0'],
          [image.digest, DEPENDS_ON, 'pkg:npm/a@1.0.0'],
          ['pkg:npm/a@1.0.0', DEPENDS_ON, 'pkg:npm/b@2.0.0'],
        ],
      )
    })

    test('version 1 returns when packages were built and when their support ends, as far as it is known', async () => {
      const { owner, name, api } = await fixture()
      const rpm = readFileSync('test/package-databases/rpm/go-rpmdb-cbl-mariner-2.0-24.sqlite')
      const osRelease = readFileSync('test/package-databases/os-release/syft-fedora-os-release')
      const layer = {
        'etc/os-release': osRelease,
        'var/lib/rpm/rpmdb.sqlite': rpm,
        'app/node_modules/a/package.json': '{"name":"a","version":"1.0.0"}',
      }
      const image = await imageOfFiles([layer])
      await pushImage(owner, name, image, 'v1')
      const repo = await repoUid(api, name)
      await waitForContents(api, repo, 'v1')
      const read = async () => {
        const { items } = await cast().grpc.call(
          Registry.method.listManifestMetadata,
          { repoId: repo, items: [{ imageDigest: image.digest }] },
          { token: api.token },
        )
        return new Map(
          items[0]?.pkgMetadata.map(({ purl, eolDate, buildTimestamp }) => [
            purl.replace(/\?.*/, ''),
            [buildTimestamp, eolDate].map((time) => time && timestampDate(time).toISOString()),
          ]),
        )
      }
      const found = await read()
      assert.deepEqual(found.get('pkg:rpm/fedora/bzip2-libs@1.0.8-1.cm2'), [
        '2022-01-25T01:20:02.000Z',
        '2023-05-16T00:00:00.000Z',
      ])
      assert.deepEqual(found.get('pkg:npm/a@1.0.0'), [undefined, undefined])
      assert.equal(found.size, 25)

      const document = JSON.parse(spdxDocument('pkg:npm/a@1.0.0', 'pkg:npm/b@1.0.0').toString())
      Object.assign(document.packages[0], {
        builtDate: '2024-01-02T03:04:05Z',
        validUntilDate: '2030-01-01T00:00:00Z',
      })
      await attach(owner, name, image, SPDX, Buffer.from(JSON.stringify(document)))
      await waitForContents(api, repo, 'v1', ({ source }) => source.endsWith('ATTACHED_SBOM'))
      assert.deepEqual(
        [...(await read())],
        [
          ['pkg:npm/a@1.0.0', ['2024-01-02T03:04:05.000Z', '2030-01-01T00:00:00.000Z']],
          ['pkg:npm/b@1.0.0', [undefined, undefined]],
        ],
      )
    })
  },
  { contents: imageJobs.contents },
)
