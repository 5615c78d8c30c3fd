import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { ReposService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { accessRuleOf } from '@berth/server/pipeline/authorize.ts'
import type { DescMethod } from '@bufbuild/protobuf'
import {
  alreadyExistsError,
  assertError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { v1ClientOf } from '../support/api/v1-client.ts'

/** What only version 1 has: deployments, settings of a registry, subscriptions, and what is refused. */

const REPO = 'registry.chainguard.dev/Repo'
const DEPLOYMENT = 'registry.chainguard.dev/Deployment'

onEveryDatabase('the registry of version 1', (cast) => {
  const newRepo = async () => {
    const organization = await cast().organization()
    const owned = v1ClientOf(cast(), organization.owner.api)
    const { id: repo } = (await owned.post(`registry/repos/${organization.uid}`, { name: newName('repo') }))
      .body
    const operator = v1ClientOf(cast(), cast().admin)
    const viewer = v1ClientOf(cast(), (await organization.member('viewer')).api)
    return { ...organization, owned, operator, viewer, repo: repo as string }
  }
  const rows = (table: 'deployments' | 'registry_settings', root: string) =>
    cast()
      .berth.berth.installation.store.db.kysely.selectFrom(table)
      .selectAll()
      .where('root', '=', root)
      .execute()

  test('a repo has the charts that deploy it', async () => {
    const { uid: root, operator, owned, repo } = await newRepo()
    const path = `registry/repos/${repo}/deployment`
    assertError(await owned.get(path), notFoundError(DEPLOYMENT, repo))
    const charts = [
      { source: 'https://git.example/chart', repo: 'oci://cr.example/charts', chart: 'nginx' },
      { repo: 'http://127.0.0.1:5000/charts' },
    ]
    assertError(await operator.put(path, { charts }), notFoundError(DEPLOYMENT, repo))
    const made = await operator.post(path, { charts })
    assert.deepEqual(made.body, { id: repo, charts }, made.text)
    assert.deepEqual((await owned.get(path)).body, made.body)
    assertError(await operator.post(path, { charts }), alreadyExistsError(DEPLOYMENT, repo))
    const changed = await operator.put(path, { charts: charts.slice(1) })
    assert.deepEqual(changed.body.charts, charts.slice(1))
    const { grpc } = cast()
    const { charts: read } = await grpc.call(
      Registry.method.getDeployment,
      { repoId: repo },
      { token: cast().admin.token },
    )
    assert.deepEqual(
      read.map(({ source, repo, chart }) => [source, repo, chart]),
      [[undefined, 'http://127.0.0.1:5000/charts', undefined]],
    )
    assert.deepEqual((await operator.put(path, {})).body, { id: repo, charts: [] })
    assertError(await owned.get(path), notFoundError(DEPLOYMENT, repo))
    await cast().writesNothing(async () => {
      assert.equal((await operator.put(path, {})).status, 200)
    })
    await operator.post(path, { charts })
    await owned.delete(`registry/repos/${repo}`)
    assert.deepEqual(await rows('deployments', root), [])
    assertError(await owned.get(path), notFoundError(REPO, repo))
    assertError(await operator.post(path, { charts }), notFoundError(REPO, repo))
  })

  test('charts need an https or oci URL without credentials, and only the operator sets them', async () => {
    const { operator, owned, repo, viewer } = await newRepo()
    const path = `registry/repos/${repo}/deployment`
    const bad = [
      'http://charts.example',
      'ftp://charts.example',
      'https://user@charts.example',
      'https:charts.example',
      'oci://',
      'oci://me:secret@cr.example/charts',
      'charts.example',
      'https://charts.example/a b',
      `https://charts.example/${'x'.repeat(limits.chartFieldCharsMax)}`,
      '',
    ]
    await cast().writesNothing(async () => {
      for (const url of bad)
        assertError(
          await operator.post(path, { charts: [{ repo: url }] }),
          invalidFieldError('charts[0].repo'),
        )
      const many = Array.from({ length: limits.deploymentChartsMax + 1 }, () => ({
        repo: 'oci://cr.example/x',
      }))
      assertError(await operator.post(path, { charts: many }), invalidFieldError('charts'))
      assertError(await operator.post(path, {}), invalidFieldError('charts'))
      for (const api of [viewer, owned])
        assertError(await api.post(path, { charts: many.slice(1) }), permissionDeniedError)
    })
  })

  test('an organization has copy settings for its images', async () => {
    const { uid: root, operator, owned, owner, viewer, repo } = await newRepo()
    const path = `registry/settings/${root}`
    const nothing = { registryId: root, uniqueTags: false, eolGracePeriod: false }
    assert.deepEqual((await owned.get(path)).body, nothing)
    await cast().writesNothing(async () => {
      assert.deepEqual((await operator.put(path, {})).body, nothing)
      assertError(await viewer.put(path, { uniqueTags: true }), permissionDeniedError)
      assertError(await operator.put(`registry/settings/${repo}`, {}), invalidFieldError('registryId'))
      assertError(await owned.get(`registry/settings/${repo}`), invalidFieldError('registryId'))
    })
    const wanted = { registryId: root, uniqueTags: true, eolGracePeriod: true }
    assert.deepEqual((await operator.put(path, { ...wanted, registryId: 'x' })).body, wanted)
    assert.deepEqual((await owned.get(path)).body, wanted)
    // Copies say so, in either version.
    const copying = { name: newName('copy'), sync_config: { source: repo } }
    const { body: copy } = await operator.post(`registry/repos/${root}`, copying)
    assert.deepEqual([copy.sync_config.uniqueTags, copy.sync_config.gracePeriod], [true, true])
    const { sync_config } = (await owner.api.get(`registry/repos/${copy.id}`)).body
    assert.deepEqual([sync_config.uniqueTags, sync_config.gracePeriod], [true, true])
    await cast().writesNothing(async () => {
      assert.deepEqual((await owned.put(`registry/repos/${copy.id}`, copying)).body, copy)
    })
    assert.deepEqual((await operator.put(path, { uniqueTags: true })).body, {
      ...wanted,
      eolGracePeriod: false,
    })
    const later = (await owned.get(`registry/repos?id=${copy.id}`)).body.items[0].sync_config
    assert.deepEqual([later.uniqueTags, later.gracePeriod], [true, false])
    await operator.delete(`registry/repos/${copy.id}`)
    await owned.delete(`registry/repos/${repo}`)
    for (const { uid } of (await cast().admin.get('iam/roleBindings', { 'uidp.children_of': root })).body
      .roleBindings)
      await cast().admin.delete(`iam/roleBindings/${uid}`)
    for (const { uid } of (await cast().admin.get('iam/identities', { 'uidp.children_of': root })).body
      .identities)
      await cast().admin.delete(`iam/identities/${uid}`)
    const gone = await cast().admin.delete(`iam/groups/${root}`)
    assert.equal(gone.status, 200, gone.text)
    assert.deepEqual(await rows('registry_settings', root), [])
  })

  test('unknown resources are empty or not found, methods that are not implemented say why', async () => {
    const { uid: root, owned, viewer, repo } = await newRepo()
    const stranger = v1ClientOf(cast(), (await cast().organization()).owner.api)
    // None is not the same as not known.
    const endsOfLife = await owned.get('registry/eoltags')
    assert.deepEqual([endsOfLife.status, endsOfLife.body.code], [501, 12], endsOfLife.text)
    assert.match(endsOfLife.body.message, /does not know when software reaches its end of life/)
    assertError(
      await owned.get('registry/versions/go'),
      notFoundError('registry.chainguard.dev/Package', 'go'),
    )
    const digest = `sha256:${'a'.repeat(64)}`
    for (const path of [
      ...['helm', 'chart'].map((what) => `registry/repos/${repo}/digests/${digest}/${what}`),
      `registry/repos/${repo}/chart-image-bindings`,
      `registry/repos/${repo}:updatestatus`,
      `registry/repos/${repo}:syncstatus`,
    ]) {
      const reply = await owned.get(path)
      assert.deepEqual([reply.status, reply.body.code], [501, 12], `${path} ${reply.text}`)
      assert.match(reply.body.message, /this server (reads|builds|copies|scans|does) no|is not public/)
      assertError(await stranger.get(path), permissionDeniedError)
    }
    for (const what of ['imageconfig', 'architectures', 'size', 'sbom', 'vulnreport']) {
      const path = `registry/repos/${repo}/digests/${digest}/${what}`
      assertError(await owned.get(path), notFoundError('registry.chainguard.dev/Manifest', digest))
      assertError(await stranger.get(path), permissionDeniedError)
    }
    for (const path of ['registry/buildreports', 'registry/buildstatus', 'registry/syncstatuses'])
      assert.equal((await owned.get(path)).status, 501, path)

    const sink = { sink: 'https://sink.example' }
    const refused = await owned.post(`events/subscriptions/${root}`, sink)
    assert.deepEqual([refused.status, refused.body.code], [501, 12], refused.text)
    assert.match(refused.body.message, /sends no events/)
    assertError(await viewer.post(`events/subscriptions/${root}`, sink), permissionDeniedError)
    assert.deepEqual((await owned.get(`events/subscriptions?uidp.descendants_of=${root}`)).body, {
      items: [],
    })
    const none = `${root}/0123456789abcdef`
    assertError(
      await owned.delete(`events/subscriptions/${none}`),
      notFoundError('events.chainguard.dev/Subscription', none),
    )
    assertError(await stranger.delete(`events/subscriptions/${none}`), permissionDeniedError)
  })
})

test('the registry of version 1 requires the capabilities of the newer services', () => {
  const pairs = [
    [Registry.method.createRepo, ReposService.method.createRepo],
    [Registry.method.updateRepo, ReposService.method.updateRepo],
    [Registry.method.listRepos, ReposService.method.listRepos],
    [Registry.method.deleteRepo, ReposService.method.deleteRepo],
    [Registry.method.createTag, TagsService.method.createTag],
    [Registry.method.listTags, TagsService.method.listTags],
    [Registry.method.deleteTag, TagsService.method.deleteTag],
  ] as const
  const asked = (method: DescMethod) => {
    const rule = accessRuleOf(method)
    return [rule.kind, 'capabilities' in rule ? rule.capabilities : undefined]
  }
  for (const [old, next] of pairs) assert.deepEqual(asked(old), asked(next), String(old))
})
