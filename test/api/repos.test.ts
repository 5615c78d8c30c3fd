import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReposService } from '#gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { assertRefused, badField, denied, missing, onEveryDatabase, taken } from '../support/cast.ts'
import { expectGolden } from '../support/golden.ts'
import { stable } from '../support/stable.ts'

const TYPE = 'registry.chainguard.dev/Repo'
const customOverlay = { environment: { LANG: 'C' }, annotations: { 'com.example.team': 'one' } }

onEveryDatabase('repos', (cast) => {
  test('create, get, list, update and delete answer in the exact shape', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const created = await api.post(`registry/repos/${root}`, { name: 'nginx', description: 'A web server' })
    assert.equal(created.status, 200, created.text)
    const { uid } = created.body
    assert.equal(uid.slice(0, -17), root)
    assert.deepEqual((await api.get(`registry/repos/${uid}`)).body, created.body)
    const listed = await api.get('registry/repos', { 'uidp.descendants_of': root })
    assert.deepEqual(listed.body.repos, [created.body])
    cast().berth.advance(5)
    const updated = await api.patch(`registry/repos/${uid}`, { customOverlay })
    assert.ok(updated.body.updateTime > created.body.updateTime)
    assert.equal(updated.body.createTime, created.body.createTime)
    expectGolden(
      'api-repos.json',
      stable({ created: created.body, listed: listed.body, updated: updated.body }),
    )
    const deleted = await api.delete(`registry/repos/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertRefused(await api.get(`registry/repos/${uid}`), missing(TYPE, uid))
    assertRefused(await api.patch(`registry/repos/${uid}`, {}), missing(TYPE, uid))
    assertRefused(await api.delete(`registry/repos/${uid}`), missing(TYPE, uid))
  })

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const { grpc } = cast()
    const { token } = owner.api
    const { createRepo, getRepo, listRepos, updateRepo, deleteRepo } = ReposService.method
    const created = await grpc.call(
      createRepo,
      { parent: root, repo: { name: 'nginx', customOverlay } },
      { token },
    )
    assert.deepEqual(created.customOverlay?.environment, customOverlay.environment)
    const { uid } = created
    assert.deepEqual(await grpc.call(getRepo, { uid }, { token }), created)
    const listed = await grpc.call(listRepos, { uidp: { childrenOf: root }, name: 'nginx' }, { token })
    assert.deepEqual([listed.repos, listed.totalCount], [[created], 1n])
    const updated = await grpc.call(updateRepo, { repo: { uid, description: 'd' } }, { token })
    assert.deepEqual(
      [updated.name, updated.description, updated.customOverlay],
      ['nginx', 'd', created.customOverlay],
    )
    await grpc.call(deleteRepo, { uid }, { token })
    await assert.rejects(grpc.call(getRepo, { uid }, { token }), { code: 5 })
  })

  test('what a repo cannot be is refused, field by field, and nothing is written', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.made(`registry/repos/${root}`, { name: 'nginx' })
    await cast().writesNothing(async () => {
      for (const [body, ...fields] of [
        [{ name: '' }, 'name'],
        [{ name: 'Nginx' }, 'name'],
        [{ name: 'a/b' }, 'name'],
        [{ name: 'a', description: 'x\u0000' }, 'description'],
        [{ name: '', description: '\n' }, 'name', 'description'],
        [{ name: 'a', catalogTier: 'GOLD' }, 'catalogTier'],
        [{ name: 'a', tier: 1 }, 'tier'],
        [{ name: 'a', customOverlay: { env: {} } }, 'customOverlay.env'],
      ] as const) {
        assertRefused(await owner.api.post(`registry/repos/${root}`, body), badField(...fields))
        assertRefused(await owner.api.patch(`registry/repos/${uid}`, body), badField(...fields))
      }
      assertRefused(await owner.api.post(`registry/repos/${root}`, {}), badField('name'))
      const gone = `${root}/0123456789abcdef`
      assertRefused(
        await owner.api.post(`registry/repos/${gone}`, { name: 'a' }),
        missing('iam.chainguard.dev/Group', gone),
      )
      for (const bad of ['x', root.slice(1)]) {
        assertRefused(await owner.api.get(`registry/repos/${bad}`), badField('uid'))
        assertRefused(await owner.api.post(`registry/repos/${bad}`, { name: 'a' }), badField('parent'))
      }
    })
  })

  test("a group's repos differ in name", async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid: team } = await owner.api.made(`iam/groups/${root}`, { name: 'team' })
    await owner.api.made(`registry/repos/${root}`, { name: 'nginx' })
    await owner.api.made(`registry/repos/${team}`, { name: 'nginx' })
    const other = await owner.api.made(`registry/repos/${root}`, { name: 'other' })
    await cast().writesNothing(async () => {
      assertRefused(await owner.api.post(`registry/repos/${root}`, { name: 'nginx' }), taken(TYPE, 'nginx'))
      assertRefused(
        await owner.api.patch(`registry/repos/${other.uid}`, { name: 'nginx' }),
        taken(TYPE, 'nginx'),
      )
    })
    const { body } = await owner.api.get('registry/repos', { 'uidp.descendants_of': root, name: 'nginx' })
    assert.equal(body.totalCount, '2')
    const empty = await owner.api.get('registry/repos', { 'uidp.descendants_of': root, name: '' })
    assert.equal(empty.body.totalCount, '3')
  })

  test('an update changes what it names and nothing else', async () => {
    const { owner, uid: root } = await cast().organization()
    const full = { contents: { packages: ['curl'] }, ...customOverlay }
    const cases: readonly [body: object, mask: string | undefined, wanted: (made: Overlaid) => object][] = [
      [{ description: 'new' }, undefined, () => ({ description: 'new' })],
      [{ description: null }, undefined, () => ({ description: '' })],
      [{ name: 'other', description: 'new' }, 'name', () => ({ name: 'other' })],
      [
        { customOverlay: { environment: { A: '1' } } },
        undefined,
        ({ customOverlay }) => ({ customOverlay: { ...customOverlay, environment: { A: '1' } } }),
      ],
      [
        { customOverlay: { environment: { A: '1' } } },
        'custom_overlay.environment',
        ({ customOverlay }) => ({ customOverlay: { ...customOverlay, environment: { A: '1' } } }),
      ],
      [
        { customOverlay: { environment: { A: '1' } } },
        'customOverlay',
        () => ({ customOverlay: { environment: { A: '1' }, annotations: {} } }),
      ],
      [{}, 'customOverlay', () => ({ customOverlay: undefined })],
      [{ customOverlay: null }, undefined, () => ({ customOverlay: undefined })],
      [{ name: 'other' }, '*', () => ({ name: 'other', description: '', customOverlay: undefined })],
      [{ uid: 'x', createTime: '2001-01-01T00:00:00Z' }, 'uid,createTime,updateTime', () => ({})],
    ]
    for (const [body, mask, wanted] of cases) {
      const made = await owner.api.made(`registry/repos/${root}`, {
        name: 'nginx',
        description: 'old',
        customOverlay: full,
      })
      const { status, body: updated, text } = await owner.api.patch(`registry/repos/${made.uid}`, body, mask)
      assert.equal(status, 200, text)
      const expected = { ...made, ...wanted(made), updateTime: updated.updateTime }
      assert.deepEqual(updated, JSON.parse(JSON.stringify(expected)), JSON.stringify([body, mask]))
      await owner.api.delete(`registry/repos/${made.uid}`)
    }
  })

  test('R18: what describes an image in the catalogue is for the operator', async () => {
    const { owner, uid: root } = await cast().organization()
    const { admin } = cast()
    const made = await owner.api.made(`registry/repos/${root}`, { name: 'nginx' })
    const fields: Record<string, unknown> = {
      catalogTier: 'CATALOG_TIER_APPLICATION',
      bundles: ['base'],
      aliases: ['docker.io/library/nginx:latest'],
      activeTags: ['1.27'],
      sync_config: { source: 'f'.repeat(40) },
    }
    await cast().writesNothing(async () => {
      for (const [field, value] of Object.entries(fields)) {
        assertRefused(
          await owner.api.post(`registry/repos/${root}`, { name: 'other', [field]: value }),
          denied,
        )
        for (const mask of [undefined, field, '*']) {
          const body = { name: 'nginx', [field]: value }
          assertRefused(await owner.api.patch(`registry/repos/${made.uid}`, body, mask), denied)
        }
      }
    })
    const { status, body, text } = await admin.patch(`registry/repos/${made.uid}`, fields)
    assert.equal(status, 200, text)
    assert.deepEqual(
      [body.catalogTier, body.bundles, body.sync_config.source],
      ['CATALOG_TIER_APPLICATION', ['base'], 'f'.repeat(40)],
    )
    // Restating them changes nothing, and the rest may change beside them.
    const restated = await owner.api.patch(
      `registry/repos/${made.uid}`,
      { name: 'nginx', ...fields, description: 'd' },
      '*',
    )
    assert.deepEqual([restated.status, restated.body.description], [200, 'd'], restated.text)
    assertRefused(await owner.api.patch(`registry/repos/${made.uid}`, { name: 'nginx' }, '*'), denied)
    assertRefused(await owner.api.patch(`registry/repos/${made.uid}`, {}, 'bundles'), denied)
  })

  test('R18: what the server sets cannot be set by anybody', async () => {
    const { uid: root } = await cast().organization()
    const own = {
      uid: 'f'.repeat(40),
      createTime: '2001-01-01T00:00:00Z',
      updateTime: '2001-01-01T00:00:00Z',
    }
    const made = await cast().admin.made(`registry/repos/${root}`, { name: 'nginx', ...own })
    for (const member of ['uid', 'createTime', 'updateTime'] as const)
      assert.notEqual(made[member], own[member])
    const { body } = await cast().admin.patch(`registry/repos/${made.uid}`, { name: 'nginx', ...own }, '*')
    assert.deepEqual(body, made)
  })

  test('R17: repos of another organization can be neither read nor written', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const { uid } = await theirs.owner.api.made(`registry/repos/${theirs.uid}`, { name: 'nginx' })
    await cast().writesNothing(async () => {
      for (const other of [uid, `${theirs.uid}/0123456789abcdef`]) {
        assertRefused(await mine.owner.api.get(`registry/repos/${other}`), denied)
        assertRefused(await mine.owner.api.patch(`registry/repos/${other}`, { description: 'd' }), denied)
        assertRefused(await mine.owner.api.delete(`registry/repos/${other}`), denied)
      }
      assertRefused(await mine.owner.api.post(`registry/repos/${theirs.uid}`, { name: 'a' }), denied)
    })
    const { body } = await mine.owner.api.get('registry/repos', { 'uidp.ids': uid })
    assert.deepEqual([body.repos, body.totalCount], [[], '0'])
  })

  test('each change leaves one audit record, a failed or empty one none', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.made(`registry/repos/${root}`, { name: 'nginx' })
    await owner.api.patch(`registry/repos/${uid}`, { description: 'd' })
    await cast().writesNothing(() => owner.api.patch(`registry/repos/${uid}`, { name: 'nginx' }))
    await owner.api.patch(`registry/repos/${uid}`, { name: '' })
    await owner.api.delete(`registry/repos/${uid}`)
    assert.deepEqual(
      (await cast().auditOf(uid)).map(({ method }) => method.split('/')[1]),
      ['CreateRepo', 'UpdateRepo', 'DeleteRepo'],
    )
  })
})

interface Overlaid {
  readonly customOverlay: object
}
