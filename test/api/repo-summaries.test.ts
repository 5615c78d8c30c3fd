import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RepoSummariesService } from '@berth/contract/gen/berth/registry/v1/repo_summaries_pb.js'
import { ANONYMOUS_IDENTITY } from '@berth/server/iam/identities/anonymous-uid.ts'
import {
  assertError,
  invalidFieldError,
  managedRole,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'
import { createRegistryFixture, ociClient, pushImage, testImage } from '../support/registry/registry.ts'

onEveryDatabase('repo summaries', (cast) => {
  test('counts blobs once in a repo, tags and manifests; shows pushes, policies and visibility', async () => {
    const { owner, organization, root } = await createRegistryFixture(cast())
    const { api } = organization.owner
    const { uid: team } = await api.create(`iam/groups/${root}`, { name: 'team' })
    const [{ uid: full }, { uid: empty }] = [
      await api.create(`registry/repos/${root}`, { name: 'full', description: 'The full one' }),
      await api.create(`registry/repos/${team}`, { name: 'empty' }),
    ]
    const name = `${root}/full`
    const image = await pushImage(owner, name, testImage(), 'one')
    await pushImage(owner, name, image, 'two')
    const { config, layers } = JSON.parse(image.manifest.toString())
    const again = testImage({ config, layers, annotations: { again: 'yes' } })
    await pushImage(owner, name, { ...again, blobs: [] })
    const list = async (query: Record<string, string> = {}, caller = api) => {
      const reply = await caller.get('registry/repoSummaries', { order_by: 'name desc', ...query })
      assert.equal(reply.status, 200, reply.text)
      return reply.body
    }
    const { repoSummaries, totalCount } = await list({ 'uidp.descendants_of': root })
    assert.equal(totalCount, '2')
    const [first, second] = repoSummaries
    const { createTime, updateTime, lastPushTime, ...counted } = first
    assert.ok(createTime && updateTime && Date.parse(lastPushTime) >= Date.parse(createTime))
    const bytes = image.blobs.reduce((sum, { length }) => sum + length, 0)
    const plain = { public: false, publicFrom: '', immutableTags: false, retentionEnabled: false }
    assert.deepEqual(counted, {
      uid: full,
      name: 'full',
      description: 'The full one',
      storedBytes: String(bytes),
      tagCount: '2',
      manifestCount: '2',
      ...plain,
    })
    assert.deepEqual(
      [second.uid, second.storedBytes, second.tagCount, second.lastPushTime],
      [empty, '0', '0', undefined],
    )

    await api.patch(`registry/repos/${full}/policy`, {
      immutableTags: { patterns: ['v*'] },
      retention: { enabled: true },
    })
    const binding = await api.create(`iam/roleBindings/${team}`, {
      identityUid: ANONYMOUS_IDENTITY,
      roleUid: managedRole('registry.pull'),
    })
    const get = async (uid: string) => (await api.get(`registry/repoSummaries/${uid}`)).body
    const flags = async (uid: string) => {
      const summary = await get(uid)
      return [summary.public, summary.publicFrom, summary.immutableTags, summary.retentionEnabled]
    }
    assert.deepEqual(await flags(full), [false, '', true, true])
    assert.deepEqual(await flags(empty), [true, team, false, false])
    await api.create(`iam/roleBindings/${root}`, {
      identityUid: ANONYMOUS_IDENTITY,
      roleUid: managedRole('registry.pull'),
    })
    assert.deepEqual(await flags(full), [true, root, true, true])
    assert.deepEqual(await flags(empty), [true, root, false, false])
    // What is public can be pulled without a token.
    const anonymous = await ociClient(cast().berth).request('GET', `${name}/manifests/one`)
    assert.equal(anonymous.status, 200)
    await api.delete(`iam/roleBindings/${binding.uid}`)
    assert.deepEqual(await flags(empty), [true, root, false, false])
    const named = await list({ name: 'full' })
    assert.deepEqual(
      named.repoSummaries.map(({ uid }: { uid: string }) => uid),
      [full],
    )
    const started = await list({ name_prefix: 'fu' })
    assert.deepEqual(
      started.repoSummaries.map(({ uid }: { uid: string }) => uid),
      [full],
    )
    // Only the start counts, and no character is special.
    for (const name_prefix of ['ull', 'fu%', 'full_', 'FU'])
      assert.deepEqual((await list({ name_prefix })).repoSummaries, [], name_prefix)
    const page = await list({ 'uidp.descendants_of': root, page_size: '1' })
    const rest = await list({ 'uidp.descendants_of': root, page_size: '1', page_token: page.nextPageToken })
    assert.deepEqual(
      [...page.repoSummaries, ...rest.repoSummaries].map(({ uid }) => uid),
      [full, empty],
    )
    const { repoSummaries: overGrpc } = await cast().grpc.call(
      RepoSummariesService.method.listRepoSummaries,
      { uidp: { childrenOf: root } },
      { token: api.token },
    )
    assert.deepEqual(
      overGrpc.map((one) => [one.uid, one.storedBytes, one.tagCount, one.public]),
      [[full, BigInt(bytes), 2n, true]],
    )
    const startedOverGrpc = await cast().grpc.call(
      RepoSummariesService.method.listRepoSummaries,
      { uidp: { descendantsOf: root }, namePrefix: 'em' },
      { token: api.token },
    )
    assert.deepEqual(
      startedOverGrpc.repoSummaries.map(({ uid }) => uid),
      [empty],
    )
  })

  test('sorts by size and last push over all pages, and reveals neither where the caller may not know them', async () => {
    const { owner, organization, root } = await createRegistryFixture(cast())
    const { api } = organization.owner
    const { uid: team } = await api.create(`iam/groups/${root}`, { name: 'team' })
    const hidden = { small: root, empty: team, large: team, medium: team, bare: root }
    for (const [name, parent] of Object.entries(hidden))
      await api.create(`registry/repos/${parent}`, { name })
    const push = (path: string, layerBytes: number) =>
      pushImage(owner, `${root}/${path}`, testImage({}, { layerBytes }), 'one')
    await push('team/large', 9000)
    await push('small', 1000)
    await push('team/medium', 5000)

    type Query = Record<string, string>
    const names = async (query: Query, caller = api, message?: string) => {
      const found: string[] = []
      let token = ''
      do {
        const page_token = token
        const reply = await caller.get('registry/repoSummaries', { page_size: '2', page_token, ...query })
        assert.equal(reply.status, 200, reply.text)
        const { repoSummaries, nextPageToken, totalCount } = reply.body
        assert.equal(totalCount, query['uidp.children_of'] === undefined ? '5' : '3', message)
        found.push(...repoSummaries.map(({ name }: { name: string }) => name))
        token = nextPageToken
      } while (token !== '')
      return found.join(' ')
    }
    const all = { 'uidp.descendants_of': root }
    const sorted = (order_by: string, caller = api) => names({ ...all, order_by }, caller, order_by)
    assert.equal(await sorted('stored_bytes desc, name'), 'large medium small bare empty')
    assert.equal(await sorted('storedBytes, name desc'), 'empty bare small medium large')
    assert.equal(await sorted('last_push_time desc, name desc'), 'medium small large empty bare')
    assert.equal(await sorted('lastPushTime, name'), 'bare empty large small medium')
    const inTeam = { 'uidp.children_of': team, order_by: 'stored_bytes' }
    assert.equal(await names(inTeam), 'empty medium large')
    // Skipped rows count, and a token is of one order.
    const first = await api.get('registry/repoSummaries', {
      ...all,
      order_by: 'stored_bytes desc',
      page_size: '1',
      skip: '1',
    })
    assert.equal(first.body.repoSummaries[0].name, 'medium')
    const page_token = first.body.nextPageToken
    const other = await api.get('registry/repoSummaries', { ...all, order_by: 'last_push_time', page_token })
    assertError(other, invalidFieldError('page_token'))
    const { repoSummaries } = await cast().grpc.call(
      RepoSummariesService.method.listRepoSummaries,
      { uidp: { descendantsOf: root }, orderBy: 'stored_bytes desc', pageSize: 1 },
      { token: api.token },
    )
    assert.deepEqual(
      repoSummaries.map(({ name }) => name),
      ['large'],
    )

    // The caller may know the totals of the folder only: all others have the same place, whatever they contain.
    const lister = await organization.member(await createRole(cast().berth, root, ['repo.list'], 'lister'))
    assert.equal(await sorted('stored_bytes desc, name', lister.api), 'bare empty large medium small')
    const reader = await createRole(cast().berth, root, ['manifest.list'], 'reader')
    await api.create(`iam/roleBindings/${team}`, { identityUid: lister.uid, roleUid: reader })
    assert.equal(await sorted('stored_bytes desc, name', lister.api), 'large medium empty bare small')
    assert.equal(await sorted('last_push_time, name', lister.api), 'bare small empty large medium')

    // The parts of the tree that a caller sees are sorted together.
    const { uid: elsewhere } = await api.create(`iam/groups/${root}`, { name: 'other' })
    await api.create(`registry/repos/${elsewhere}`, { name: 'middle' })
    await push('other/middle', 7000)
    const both = await createRole(cast().berth, root, ['repo.list', 'manifest.list'], 'both')
    const guest = await organization.member(both, team)
    await api.create(`iam/roleBindings/${elsewhere}`, { identityUid: guest.uid, roleUid: both })
    const seen: string[] = []
    for (let page_token = '', pages = 0; pages < 4; pages++) {
      const query = { order_by: 'stored_bytes desc', page_size: '1', page_token }
      const { body } = await guest.api.get('registry/repoSummaries', query)
      seen.push(body.repoSummaries[0].name)
      page_token = body.nextPageToken
    }
    assert.deepEqual(seen, ['large', 'middle', 'medium', 'empty'])
  })

  test('a role that does not let anyone pull makes nothing public', async () => {
    const { organization, root } = await createRegistryFixture(cast())
    const { api } = organization.owner
    const { uid } = await api.create(`registry/repos/${root}`, { name: 'app' })
    await api.create(`iam/roleBindings/${root}`, {
      identityUid: ANONYMOUS_IDENTITY,
      roleUid: managedRole('advisories.viewer'),
    })
    assert.equal((await api.get(`registry/repoSummaries/${uid}`)).body.public, false)
  })

  test('a role on the platform makes everything public, also for the visibility of folders and for pulls', async () => {
    const { owner, organization, root } = await createRegistryFixture(cast())
    const { api } = organization.owner
    const { uid: team } = await api.create(`iam/groups/${root}`, { name: 'team' })
    const { uid } = await api.create(`registry/repos/${team}`, { name: 'app' })
    await pushImage(owner, `${root}/team/app`, testImage(), 'one')
    const publicOf = async () => {
      const summary = (await api.get(`registry/repoSummaries/${uid}`)).body
      const visibility = await Promise.all(
        [uid, team, root].map(async (one) => (await api.get(`registry/visibility/${one}`)).body.public),
      )
      const pull = await ociClient(cast().berth).request('GET', `${root}/team/app/manifests/one`)
      return [summary.public, summary.publicFrom, ...visibility, pull.status]
    }
    assert.deepEqual(await publicOf(), [false, '', false, false, false, 401])
    const { kysely } = cast().berth.berth.installation.store.db
    const binding = { identity_uid: ANONYMOUS_IDENTITY, role_uid: managedRole('owner') }
    await kysely.insertInto('platform_bindings').values(binding).execute()
    try {
      assert.deepEqual(await publicOf(), [true, '', true, true, true, 200])
    } finally {
      await kysely.deleteFrom('platform_bindings').where('identity_uid', '=', ANONYMOUS_IDENTITY).execute()
    }
    assert.deepEqual(await publicOf(), [false, '', false, false, false, 401])
  })

  test('R17: callers see repos where they may list them, and counts with the capabilities for them', async () => {
    const { organization, root } = await createRegistryFixture(cast())
    const { api } = organization.owner
    const { uid } = await api.create(`registry/repos/${root}`, { name: 'app' })
    const stranger = await cast().organization()
    assertError(await stranger.owner.api.get(`registry/repoSummaries/${uid}`), permissionDeniedError)
    const hidden = await stranger.owner.api.get('registry/repoSummaries', { name: 'app' })
    assert.deepEqual(hidden.body.repoSummaries, [])
    const lister = await organization.member(await createRole(cast().berth, root, ['repo.list'], 'lister'))
    const { body } = await lister.api.get(`registry/repoSummaries/${uid}`)
    assert.deepEqual(
      [body.tagCount, body.manifestCount, body.storedBytes, body.lastPushTime],
      [undefined, undefined, undefined, undefined],
    )
    const role = await createRole(cast().berth, root, ['repo.list', 'tag.list'], 'tagger')
    const tagger = await organization.member(role)
    const seen = (await tagger.api.get(`registry/repoSummaries/${uid}`)).body
    assert.deepEqual([seen.tagCount, seen.manifestCount], ['0', undefined])
    const gone = `${root}/0123456789abcdef`
    assertError(
      await api.get(`registry/repoSummaries/${gone}`),
      notFoundError('registry.chainguard.dev/RepoSummary', gone),
    )
  })
})
