import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RepoTagsService } from '@berth/contract/gen/berth/registry/v1/repo_tags_pb.js'
import { TagHistoryService } from '@berth/contract/gen/berth/registry/v1/tag_history_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  failedPreconditionError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { createRole } from '../support/api/tenant.ts'
import {
  createRegistryFixture,
  imageFromManifest,
  pushImage,
  type TestImage,
  testImage,
  types,
} from '../support/registry/registry.ts'

const REPO = 'registry.chainguard.dev/Repo'
const TAG = 'registry.chainguard.dev/Tag'
const absent = `sha256:${'0'.repeat(64)}`

const indexOf = (images: readonly (readonly [TestImage, object])[]): TestImage => ({
  blobs: [],
  ...imageFromManifest({
    schemaVersion: 2,
    mediaType: types.index,
    manifests: images.map(([image, platform]) => ({ ...image.descriptor, platform })),
  }),
})

const signatureOf = (image: TestImage): TestImage =>
  testImage({ subject: image.descriptor, artifactType: 'application/vnd.cncf.notary.signature' })

onEveryDatabase('tags of a repo', (cast) => {
  const prepared = async () => {
    const fixture = await createRegistryFixture(cast())
    const { api } = fixture.organization.owner
    const { uid: repo } = await api.create(`registry/repos/${fixture.root}`, { name: newName('repo') })
    const { name } = (await api.get(`registry/repos/${repo}`)).body
    const path = `${fixture.root}/${name}`
    const push = (image: TestImage, tag?: string) => pushImage(fixture.owner, path, image, tag)
    const uidOf = async (tag: string): Promise<string> => {
      const every = { include_dates: 'true', include_epochs: 'true', include_referrers: 'true' }
      const { body } = await api.get('registry/tags', { 'uidp.children_of': repo, name: tag, ...every })
      return body.tags[0].uid
    }
    return { ...fixture, api, repo, path, push, uidOf }
  }

  test('a page has the kind, the size, the platforms and the signatures of each tag', async () => {
    const { api, repo, push, uidOf } = await prepared()
    const [amd64, arm] = [testImage({}, { layerBytes: 1000 }), testImage({}, { layerBytes: 500 })]
    const index = indexOf([
      [amd64, { os: 'linux', architecture: 'amd64' }],
      [arm, { os: 'linux', architecture: 'arm', variant: 'v7' }],
    ])
    const chart = testImage({ artifactType: 'application/vnd.cncf.helm.config.v1+json' })
    await push(amd64)
    await push(arm)
    await push(index, '1.0')
    await push(amd64, 'single')
    await push(chart, 'chart')
    await push(signatureOf(index))
    await api.create(`registry/tags/${repo}`, { name: 'absent', digest: absent, deprecated: true })
    await api.patch(`registry/repos/${repo}/policy`, { immutableTags: { patterns: ['1.*'], exceptions: [] } })
    const sizeOf = ({ blobs }: TestImage) => blobs.reduce((sum, { length }) => sum + length, 0)
    const { body } = await api.get(`registry/repos/${repo}/tags`)
    assert.equal(body.totalCount, '4')
    const seen = body.tags.map(({ tag, ...rest }: { tag: { name: string } }) => ({ name: tag.name, ...rest }))
    const plain = { immutable: false, platforms: [], hasSignature: false }
    assert.deepEqual(
      seen,
      [
        {
          ...plain,
          name: 'absent',
          target: 'TAG_TARGET_UNSPECIFIED',
          mediaType: '',
          artifactType: '',
          sizeBytes: '0',
        },
        {
          ...plain,
          name: 'chart',
          target: 'TAG_TARGET_ARTIFACT',
          mediaType: types.image,
          artifactType: 'application/vnd.cncf.helm.config.v1+json',
          sizeBytes: String(sizeOf(chart)),
        },
        {
          ...plain,
          name: 'single',
          target: 'TAG_TARGET_IMAGE',
          mediaType: types.image,
          artifactType: types.config,
          sizeBytes: String(sizeOf(amd64)),
        },
        {
          name: '1.0',
          immutable: true,
          target: 'TAG_TARGET_INDEX',
          mediaType: types.index,
          artifactType: '',
          sizeBytes: String(sizeOf(amd64) + sizeOf(arm)),
          platforms: ['linux/amd64', 'linux/arm/v7'],
          hasSignature: true,
        },
      ].sort((a, b) => (a.name < b.name ? -1 : 1)),
    )
    const [first] = body.tags
    assert.deepEqual((await api.get(`registry/tags/${await uidOf(first.tag.name)}/details`)).body, first)
    assert.equal(first.tag.name, '1.0')
  })

  test('a caller who cannot list manifests sees nothing of what tags point to', async () => {
    const { organization, root, repo, push, uidOf } = await prepared()
    const image = testImage()
    await push(image, 'v1')
    await push(signatureOf(image))
    const role = await createRole(cast().berth, root, ['repo.list', 'tag.list'], 'lister')
    const { api } = await organization.member(role)
    const [listed] = (await api.get(`registry/repos/${repo}/tags`)).body.tags
    const one = (await api.get(`registry/tags/${await uidOf('v1')}/details`)).body
    for (const { tag, ...rest } of [listed, one]) {
      assert.deepEqual([tag.name, tag.digest], ['v1', image.digest])
      assert.deepEqual(rest, {
        immutable: false,
        target: 'TAG_TARGET_UNSPECIFIED',
        mediaType: '',
        artifactType: '',
        sizeBytes: '0',
        platforms: [],
        hasSignature: false,
      })
    }
  })

  test('filters and orders apply to all pages', async () => {
    const { api, repo, push } = await prepared()
    const image = testImage()
    await push(image, 'v1')
    for (const name of ['v2', 'v10', 'main', 'v3-20250101', 'v3-r1', `sha256-${'a'.repeat(64)}`]) {
      cast().berth.advance(1)
      await api.create(`registry/tags/${repo}`, { name, digest: absent })
    }
    const path = `registry/repos/${repo}/tags`
    const namesOf = async (query: Record<string, string>) => {
      const names: string[] = []
      let pageToken = ''
      do {
        const { body } = await api.get(path, { page_size: '1', ...query, page_token: pageToken })
        names.push(...body.tags.map(({ tag }: { tag: { name: string } }) => tag.name))
        pageToken = body.nextPageToken
        if (pageToken === '') assert.equal(body.totalCount, String(names.length))
      } while (pageToken !== '')
      return names
    }
    assert.deepEqual(await namesOf({}), ['main', 'v1', 'v10', 'v2'])
    assert.deepEqual(await namesOf({ order_by: 'name desc' }), ['v2', 'v10', 'v1', 'main'])
    assert.deepEqual(await namesOf({ order_by: 'updated_at desc' }), ['main', 'v10', 'v2', 'v1'])
    assert.deepEqual(await namesOf({ name_prefix: 'v1' }), ['v1', 'v10'])
    assert.deepEqual(await namesOf({ name_prefix: 'ü' }), [])
    assert.deepEqual(await namesOf({ digest: image.digest }), ['v1'])
    assert.deepEqual(await namesOf({ include_dates: 'true', include_epochs: 'true', name_prefix: 'v3' }), [
      'v3-20250101',
      'v3-r1',
    ])
    assert.equal((await namesOf({ include_referrers: 'true' })).length, 5)
    assertError(await api.get(path, { page_size: '-1' }), invalidFieldError('page_size'))
    assertError(await api.get(path, { order_by: 'digest' }), invalidFieldError('order_by'))
    const { nextPageToken } = (await api.get(path, { page_size: '1' })).body
    assertError(
      await api.get(path, { page_size: '1', page_token: nextPageToken, name_prefix: 'v' }),
      invalidFieldError('page_token'),
    )
    const missing = `${repo.slice(0, -1)}${repo.endsWith('0') ? '1' : '0'}`
    assertError(await api.get(`registry/repos/${missing}/tags`), notFoundError(REPO, missing))
  })

  test('the history shows who moved a tag, to callers who can see who has roles', async () => {
    const { api, organization, member, push, uidOf, path } = await prepared()
    const [a, b] = [testImage(), testImage()]
    await push(a, 'latest')
    const pusher = await member('registry.push')
    await pushImage(pusher, path, b, 'latest')
    const uid = await uidOf('latest')
    const history = (await api.get(`registry/tags/${uid}/history`)).body
    const { name } = (await api.get(`iam/identities/${pusher.uid}`)).body
    assert.deepEqual(
      history.entries.map(({ updateTime, ...rest }: { updateTime: string }) => {
        assert.ok(Date.parse(updateTime) > 0)
        return rest
      }),
      [
        { digest: b.digest, available: true, actor: pusher.uid, actorName: name },
        {
          digest: a.digest,
          available: true,
          actor: organization.owner.uid,
          actorName: (await api.get(`iam/identities/${organization.owner.uid}`)).body.name,
        },
      ],
    )
    const first = (await api.get(`registry/tags/${uid}/history`, { page_size: '1' })).body
    const second = (
      await api.get(`registry/tags/${uid}/history`, { page_size: '1', page_token: first.nextPageToken })
    ).body
    assert.deepEqual([...first.entries, ...second.entries], history.entries)
    assert.equal(second.nextPageToken, '')
    const puller = await organization.member('registry.pull')
    const shown = (await puller.api.get(`registry/tags/${uid}/history`)).body
    assert.deepEqual(
      shown.entries.map(({ actor, actorName }: { actor: string; actorName: string }) => [actor, actorName]),
      [
        ['', ''],
        ['', ''],
      ],
    )
    assertError(
      await api.get(`registry/tags/${uid}/history`, { page_size: '-1' }),
      invalidFieldError('page_size'),
    )
    const missing = `${uid.slice(0, -1)}${uid.endsWith('0') ? '1' : '0'}`
    assertError(await api.get(`registry/tags/${missing}/history`), notFoundError(TAG, missing))
    const { grpc } = cast()
    const { listTagHistory } = TagHistoryService.method
    const reply = await grpc.call(listTagHistory, { uid }, { token: api.token })
    assert.deepEqual(
      reply.entries.map(({ digest }) => digest),
      [b.digest, a.digest],
    )
  })

  test('a tag moves back to an earlier digest that the repo still has, unless it changed or is immutable', async () => {
    const { api, berth, repo, push, uidOf, organization } = { ...(await prepared()), berth: cast().berth }
    const [a, b] = [testImage(), testImage()]
    await push(a, 'latest')
    await push(b, 'latest')
    const uid = await uidOf('latest')
    const path = `registry/tags/${uid}:move`
    await api.create(`registry/tags/${repo}`, {
      name: 'latest',
      digest: b.digest,
      deprecated: true,
      bundles: ['base'],
    })
    await cast().writesNothing(async () => {
      assertError(await api.post(path, { digest: absent }), failedPreconditionError('MANIFEST_NOT_IN_REPO'))
      assertError(await api.post(path, { digest: 'latest' }), invalidFieldError('digest'))
      assertError(await api.post(path, {}), invalidFieldError('digest'))
      const stale = await call('POST', `${berth.url}/registry/v2beta1/tags/${uid}:move`, {
        token: api.token,
        body: { digest: a.digest },
        headers: { 'if-match': 'W/"stale"' },
      })
      assert.equal(stale.status, 412)
      // The same digest changes nothing.
      assert.equal((await api.post(path, { digest: b.digest })).body.digest, b.digest)
    })
    const puller = await organization.member('registry.pull')
    assertError(await puller.api.post(path, { digest: a.digest }), permissionDeniedError)
    const moved = await api.post(path, { digest: a.digest })
    assert.equal(moved.status, 200, moved.text)
    const { updateTime, ...rest } = moved.body
    assert.deepEqual(rest, { uid, name: 'latest', digest: a.digest, deprecated: true, bundles: ['base'] })
    const { entries } = (await api.get(`registry/tags/${uid}/history`)).body
    assert.deepEqual(
      entries.map(({ digest }: { digest: string }) => digest),
      [a.digest, b.digest, a.digest],
    )
    assert.equal(entries[0].updateTime, updateTime)
    assert.ok(
      (await cast().auditEventsOf(uid)).some(({ method }) => method.endsWith('TagHistoryService/MoveTag')),
    )
    await api.patch(`registry/repos/${repo}/policy`, {
      immutableTags: { patterns: ['latest'], exceptions: [] },
    })
    assertError(await api.post(path, { digest: b.digest }), failedPreconditionError('TAG_IMMUTABLE'))
    const { grpc } = cast()
    await assert.rejects(
      grpc.call(TagHistoryService.method.moveTag, { uid, digest: b.digest }, { token: api.token }),
      { code: 9 },
    )
  })

  test('several tags are deleted together, after a preview of the manifests that lose their last tag', async () => {
    const { api, repo, push, uidOf, organization } = await prepared()
    const [one, two] = [testImage(), testImage()]
    const index = indexOf([[two, { os: 'linux', architecture: 'amd64' }]])
    await push(one, 'a')
    await push(one, 'b')
    await push(two, 'c')
    await push(index, 'd')
    await push(signatureOf(index))
    const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map(uidOf))
    const preview = (tagUids: unknown) => api.post(`registry/repos/${repo}/tags:previewDeletion`, { tagUids })
    const remove = (tagUids: unknown) => api.post(`registry/repos/${repo}/tags:delete`, { tagUids })
    await api.patch(`registry/repos/${repo}/policy`, {
      immutableTags: { patterns: ['d'], exceptions: [] },
      retention: { enabled: true, rules: [], untaggedAfter: '604800s' },
    })
    await cast().writesNothing(async () => {
      assert.deepEqual((await preview([a])).body, {
        tags: [{ uid: a, name: 'a', digest: one.digest, immutable: false }],
        manifests: [],
        untaggedAfter: '604800s',
      })
      const { tags, manifests } = (await preview([d, c, b, a, a])).body
      assert.deepEqual(
        tags.map(({ name, immutable }: { name: string; immutable: boolean }) => [name, immutable]),
        [
          ['a', false],
          ['b', false],
          ['c', false],
          ['d', true],
        ],
      )
      const expected = [
        { digest: one.digest, inIndex: false, referrers: 0 },
        { digest: two.digest, inIndex: true, referrers: 0 },
        { digest: index.digest, inIndex: false, referrers: 1 },
      ]
      assert.deepEqual(
        manifests,
        expected.sort((x, y) => (x.digest < y.digest ? -1 : 1)),
      )
      assertError(await remove([a, d]), failedPreconditionError('TAG_IMMUTABLE'))
      for (const request of [preview, remove]) {
        assertError(await request([]), invalidFieldError('tagUids'))
        assertError(await request(Array(limits.tagDeletionsMax + 1).fill(a)), invalidFieldError('tagUids'))
        assertError(await request([a, repo]), invalidFieldError('tagUids[1]'))
        assertError(await request(['x']), invalidFieldError('tagUids[0]'))
      }
    })
    const puller = await organization.member('registry.pull')
    assertError(
      await puller.api.post(`registry/repos/${repo}/tags:delete`, { tagUids: [a] }),
      permissionDeniedError,
    )
    assert.deepEqual((await remove([a, b, c, a])).body, { deletedTags: 3 })
    assert.deepEqual((await remove([a])).body, { deletedTags: 0 })
    assert.deepEqual((await preview([a, d])).body.tags.length, 1)
    const { body } = await api.get(`registry/repos/${repo}/tags`)
    assert.deepEqual(
      body.tags.map(({ tag }: { tag: { name: string } }) => tag.name),
      ['d'],
    )
    assert.ok(a !== undefined)
    assert.ok((await cast().auditEventsOf(a)).some(({ method }) => method.endsWith('TagsService/DeleteTag')))
    const { grpc } = cast()
    await assert.rejects(
      grpc.call(RepoTagsService.method.deleteRepoTags, { uid: repo, tagUids: [] }, { token: api.token }),
      { code: 3 },
    )
  })

  test('a preview of retention counts what each rule keeps', async () => {
    const { api, repo } = await prepared()
    for (const name of ['v1', 'v2', 'main', 'old'])
      await api.create(`registry/tags/${repo}`, { name, digest: absent })
    const rules = [{ patterns: ['v*'] }, { patterns: ['v1', 'main'] }]
    const { body } = await api.post(`registry/repos/${repo}/policy:preview`, { retention: { rules } })
    assert.deepEqual([body.deletedTags, body.keptTags, body.keptByRule], [1, 3, [2, 1]])
    assert.deepEqual(
      body.verdicts.map(({ tag, rule }: { tag: string; rule: number }) => [tag, rule]),
      [
        ['main', 2],
        ['old', 0],
        ['v1', 1],
        ['v2', 1],
      ],
    )
  })

  test('a folder is public once the anonymous identity can pull in it, and the repos in it with it', async () => {
    const { api, organization, root } = await prepared()
    const folder = (await api.create(`iam/groups/${root}`, { name: 'open' })).uid
    const repo = (await api.create(`registry/repos/${folder}`, { name: 'app' })).uid
    const visibilityOf = async (uid: string, by = api) => {
      const reply = await by.get(`registry/visibility/${uid}`)
      assert.equal(reply.status, 200, reply.text)
      return reply.body
    }
    const before = await visibilityOf(repo)
    assert.deepEqual([before.public, before.bindings, before.repos], [false, [], 1])
    const binding = await api.create(`iam/roleBindings/${folder}`, {
      identityUid: before.anonymousIdentity,
      roleUid: before.pullRole,
    })
    const shown = [{ uid: binding.uid, group: folder, groupName: 'open', roleName: 'registry.pull' }]
    assert.deepEqual([(await visibilityOf(repo)).public, (await visibilityOf(repo)).bindings], [true, shown])
    assert.deepEqual((await visibilityOf(folder)).bindings, shown)
    assert.deepEqual([(await visibilityOf(root)).public, (await visibilityOf(root)).bindings], [false, []])
    const puller = await organization.member('registry.pull')
    assert.deepEqual((await visibilityOf(repo, puller.api)).bindings, [{ ...shown[0], uid: '' }])
    const role = await createRole(cast().berth, root, ['repo.list'], 'lister')
    const lister = await organization.member(role)
    const nameless = { ...shown[0], uid: '', groupName: '' }
    assert.deepEqual((await visibilityOf(repo, lister.api)).bindings, [nameless])
    const pull = async () => (await fetch(`${cast().berth.url}/v2/${root}/open/app/tags/list`)).status
    assert.equal(await pull(), 200)
    assert.equal((await api.delete(`iam/roleBindings/${binding.uid}`)).status, 200)
    assert.equal((await visibilityOf(repo)).public, false)
    assert.equal(await pull(), 401)
    const stranger = await cast().organization()
    assertError(await stranger.owner.api.get(`registry/visibility/${repo}`), permissionDeniedError)
    assertError(
      await api.get(`registry/visibility/${folder}/0123456789abcdef`),
      notFoundError(REPO, `${folder}/0123456789abcdef`),
    )
  })
})
