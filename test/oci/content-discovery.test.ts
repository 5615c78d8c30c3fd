import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { repoNames } from '@berth/server/registry/oci/operations/catalog-order.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import {
  assertOciError,
  createRegistryFixture,
  digest,
  imageFromManifest,
  type OciReply,
  pushImage,
  putManifest,
  testImage,
  types,
} from '../support/registry/registry.ts'

/** The path of the next page, below /v2/. */
function nextOf({ headers }: OciReply): string | undefined {
  return /^<\/v2\/([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
}

onEveryDatabase('registry: content discovery', (cast) => {
  test('tags are listed in order, a page at a time, each once (R28)', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name)
    const tags = ['1', '10', '2', 'A', 'Z', '_', 'a', 'a-b', 'a.b', 'latest', 'sha256-1']
    for (const tag of [...tags].reverse()) await putManifest(owner, name, tag, image)
    const all = await owner.request('GET', `${name}/tags/list`)
    assert.deepEqual(all.json, { name, tags })
    assert.equal(all.headers.get('link'), null)
    for (const n of [1, 3, tags.length - 1]) {
      const seen: string[] = []
      let path: string | undefined = `${name}/tags/list?n=${n}`
      while (path !== undefined) {
        const page: OciReply = await owner.request('GET', path)
        assert.ok(page.json.tags.length <= n)
        seen.push(...page.json.tags)
        path = nextOf(page)
      }
      assert.deepEqual(seen, tags, String(n))
    }
    const list = async (query: string) => (await owner.request('GET', `${name}/tags/list?${query}`)).json.tags
    assert.deepEqual(await list('last=a'), tags.slice(7))
    assert.deepEqual(await list('last=ab'), ['latest', 'sha256-1'], 'after a name that is no tag')
    assert.deepEqual(await list('n=0'), [])
    assert.ok(limits.registryListMax < 10 ** 12)
    assert.deepEqual(await list(`n=${10 ** 12}`), tags, 'more than registryListMax')
    assert.deepEqual(await list(`n=${'9'.repeat(400)}`), tags)
    for (const n of ['-1', 'x', '1.5'])
      assertOciError(await owner.request('GET', `${name}/tags/list?n=${n}`), 400, 'PAGINATION_NUMBER_INVALID')
  })

  test('referrers are listed by subject and type, whether the subject exists or not', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const subject = testImage()
    const referrers = (query = '') => owner.request('GET', `${name}/referrers/${subject.digest}${query}`)
    const nothing = await referrers()
    assert.equal(nothing.status, 200)
    assert.deepEqual(nothing.json, { schemaVersion: 2, mediaType: types.index, manifests: [] })

    const annotations = { 'org.example.key': 'value' }
    const signature = testImage({
      subject: subject.descriptor,
      artifactType: 'application/x.signature',
      annotations,
    })
    const plain = testImage({ subject: subject.descriptor })
    const index = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      artifactType: 'application/x.list',
      manifests: [],
      subject: subject.descriptor,
    })
    for (const image of [signature, plain]) {
      await pushImage(owner, name, image)
      const put = await putManifest(owner, name, image.digest, image)
      assert.equal(put.headers.get('oci-subject'), subject.digest)
    }
    assert.equal((await putManifest(owner, name, index.digest, index)).status, 201)
    await pushImage(owner, name, subject)
    await pushImage(owner, name)

    const wanted = [
      { ...signature.descriptor, artifactType: 'application/x.signature', annotations },
      { ...plain.descriptor, artifactType: types.config },
      { ...index.descriptor, artifactType: 'application/x.list' },
    ].sort((a, b) => (a.digest < b.digest ? -1 : 1))
    const all = await referrers()
    assert.equal(all.headers.get('content-type'), types.index)
    assert.equal(all.headers.get('oci-filters-applied'), null)
    assert.deepEqual(all.json.manifests, wanted)
    const some = await referrers('?artifactType=application/x.signature')
    assert.equal(some.headers.get('oci-filters-applied'), 'artifactType')
    assert.deepEqual(
      some.json.manifests.map((one: { digest: string }) => one.digest),
      [signature.digest],
    )
    assert.deepEqual((await referrers('?artifactType=none')).json.manifests, [])
    assertOciError(await owner.request('GET', `${name}/referrers/latest`), 400, 'DIGEST_INVALID')

    await owner.request('DELETE', `${name}/manifests/${signature.digest}`)
    assert.equal((await referrers()).json.manifests.length, 2)
  })

  test('lists of referrers are limited to a size that clients can read (referrersBytesMax)', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const subject = testImage()
    const pushed: (typeof subject.descriptor)[] = []
    for (let at = 0; at < 50; at++) {
      const chars = at % 2 === 0 ? Math.floor(limits.manifestAnnotationsBytesMax * 0.8) : 10
      const annotations = { text: 'é'.repeat(Math.floor(chars / 2)), at: String(at) }
      const index = imageFromManifest({
        schemaVersion: 2,
        mediaType: types.index,
        artifactType: 'application/x.large',
        manifests: [],
        subject: subject.descriptor,
        annotations,
      })
      assert.equal((await putManifest(owner, name, index.digest, index)).status, 201)
      const more = { artifactType: 'application/x.large', annotations }
      pushed.push({ ...index.descriptor, ...more })
    }
    const seen: { digest: string }[] = []
    let path: string | undefined = `${name}/referrers/${subject.digest}?artifactType=application/x.large`
    for (let pages = 0; path !== undefined; pages++) {
      assert.ok(pages < 3)
      const page: OciReply = await owner.request('GET', path)
      assert.ok(page.bytes.length <= limits.referrersBytesMax)
      seen.push(...page.json.manifests)
      path = nextOf(page)
    }
    assert.deepEqual(
      seen,
      pushed.sort((a, b) => (a.digest < b.digest ? -1 : 1)),
    )
  })

  test('the catalog has what the caller may list, and pages through it (R35)', async () => {
    const { owner, root, member } = await createRegistryFixture(cast())
    const names = ['a', 'b', 'c/d', 'c/e/f'].map((one) => `${root}/${one}`)
    for (const name of names) await pushImage(owner, name)
    const other = await createRegistryFixture(cast())
    await pushImage(other.owner, other.name)
    const all = await owner.request('GET', '_catalog')
    assert.deepEqual(all.json.repositories, names)
    const seen: string[] = []
    let path: string | undefined = '_catalog?n=1'
    while (path !== undefined) {
      const page: OciReply = await owner.request('GET', path)
      seen.push(...page.json.repositories)
      path = nextOf(page)
    }
    assert.deepEqual(seen, all.json.repositories)
    // Who does not follow links goes on after a name.
    const [first, ...others] = all.json.repositories
    const after = (await owner.request('GET', `_catalog?last=${first}`)).json.repositories
    assert.deepEqual(after, others)
    const { body } = await cast().admin.get('iam/groups', { 'uidp.children_of': root })
    const puller = await member('registry.pull', body.groups[0].uid)
    assert.deepEqual((await puller.request('GET', '_catalog')).json.repositories, names.slice(2))
    assert.deepEqual((await owner.request('GET', '_catalog?n=0')).json.repositories, [])
    assertOciError(await owner.request('GET', '_catalog?n=x'), 400, 'PAGINATION_NUMBER_INVALID')
  })

  test('the catalog is in the order of bytes, also page by page and for several organizations', async () => {
    const { owner, root } = await createRegistryFixture(cast())
    const paths = [
      'a',
      'a-b/z',
      'a-b-c/d',
      'a.b/c',
      'a/b',
      'a/b-c',
      'a/b/c',
      'a0',
      'a0/b',
      'ab',
      'b/a/a',
      'b-a',
    ]
    for (const path of paths) await pushImage(owner, `${root}/${path}`)
    const expected = paths.map((path) => `${root}/${path}`).sort()
    const page = async (query: string) =>
      (await owner.request('GET', `_catalog?${query}`)).json.repositories as string[]
    assert.deepEqual(await page(''), expected)
    for (const [at, last] of expected.entries()) {
      assert.deepEqual(await page(`n=3&last=${last}`), expected.slice(at + 1, at + 4), last)
      assert.deepEqual(
        await page(`n=1&last=${last}!`),
        expected.filter((name) => name > `${last}!`).slice(0, 1),
      )
    }
    // Many repos are not sorted as a whole.
    const { db } = cast().berth.berth.installation.store
    const walked: string[] = []
    for await (const name of repoNames(db, [root], '', 2)) walked.push(name)
    assert.deepEqual(walked, expected)
    for (const [at, last] of expected.entries())
      for await (const name of repoNames(db, [root], last, 2)) {
        assert.equal(name, expected[at + 1])
        break
      }
    const admin: string[] = []
    for await (const name of repoNames(db, [''], '', 2)) admin.push(name)
    assert.deepEqual(admin, admin.toSorted())
    assert.deepEqual(
      admin.filter((name) => name.startsWith(root)),
      expected,
    )
  })

  test('lists reject other methods and paths', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    await pushImage(owner, name)
    for (const [method, path] of [
      ['POST', `${name}/tags/list`],
      ['DELETE', `${name}/tags/list`],
      ['PUT', `${name}/referrers/${digest('x')}`],
      ['PATCH', `${name}/manifests/latest`],
      ['PUT', `${name}/blobs/${digest('x')}`],
      ['GET', `${name}/blobs/uploads/`],
      ['POST', '_catalog'],
    ] as const) {
      const reply = await owner.request(method, path)
      assertOciError(reply, 405, 'UNSUPPORTED', path)
      assert.match(reply.headers.get('allow') ?? '', /^(GET|POST|PUT|DELETE|HEAD|, )+$/)
    }
    for (const path of ['tags/list?last=%00', 'manifests/%00', 'blobs/uploads/%00'])
      assertOciError(await owner.request('GET', `${name}/${path}`), 400, 'NAME_INVALID', path)
    for (const path of [`${name}/tags`, `${name}/other/${digest('x')}`, `${name}`])
      assert.equal((await owner.request('GET', path)).status, 404, path)
  })
})
