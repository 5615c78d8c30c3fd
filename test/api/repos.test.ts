import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReposService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  type Api,
  type ApiFixture,
  alreadyExistsError,
  apiOf,
  assertError,
  failedPreconditionError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import type { GrpcFailure } from '../support/api/grpc.ts'
import { call } from '../support/api/rest.ts'
import { stableText } from '../support/api/stable-output.ts'
import { assertGolden } from '../support/golden.ts'

const TYPE = 'registry.chainguard.dev/Repo'
const customOverlay = { environment: { LANG: 'C' }, annotations: { 'com.example.team': 'one' } }
const catalog = {
  catalogTier: 'CATALOG_TIER_APPLICATION',
  bundles: ['base', 'featured'],
  aliases: ['docker.io/library/nginx:latest'],
  activeTags: ['1.27', 'latest'],
}
const noCatalog = { catalogTier: 'CATALOG_TIER_UNSPECIFIED', bundles: [], aliases: [], activeTags: [] }

/** A repo to copy, created by the operator. */
async function makeSource({ admin }: Pick<ApiFixture, 'admin'>, group: string, body: object = {}) {
  return admin.create(`registry/repos/${group}`, { name: newName('source'), ...body })
}

async function makeCopy(api: Api, group: string, source: string, body: object = {}) {
  return api.create(`registry/repos/${group}`, { name: newName('copy'), sync_config: { source }, ...body })
}

onEveryDatabase('repos', (cast, { testOnce }) => {
  test('create, get, list, update and delete return the exact JSON', async () => {
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
    const source = await makeSource(cast(), root, catalog)
    const synced = await cast().admin.patch(`registry/repos/${uid}`, {
      sync_config: { source: source.uid, google: 'pkg.example/one' },
    })
    assert.equal(synced.status, 200, synced.text)
    const updated = await api.patch(`registry/repos/${uid}`, { customOverlay })
    assert.equal(updated.status, 200, updated.text)
    assert.ok(updated.body.updateTime > created.body.updateTime)
    assert.equal(updated.body.createTime, created.body.createTime)
    assertGolden(
      'api-repos.json',
      stableText({ created: created.body, listed: listed.body, updated: updated.body }),
    )
    const deleted = await api.delete(`registry/repos/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertError(await api.get(`registry/repos/${uid}`), notFoundError(TYPE, uid))
    assertError(await api.patch(`registry/repos/${uid}`, {}), notFoundError(TYPE, uid))
    assertError(await api.delete(`registry/repos/${uid}`), notFoundError(TYPE, uid))
  })

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const { grpc } = cast()
    const { token } = owner.api
    const { createRepo, getRepo, listRepos, updateRepo, deleteRepo } = ReposService.method
    const source = await makeSource(cast(), root)
    const created = await grpc.call(
      createRepo,
      { parent: root, repo: { name: 'nginx', syncConfig: { source: source.uid }, customOverlay } },
      { token: cast().admin.token },
    )
    assert.deepEqual(created.customOverlay?.environment, customOverlay.environment)
    assert.equal(created.syncConfig?.source, source.uid)
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

  test('an invalid repo is rejected, field by field, and nothing is written', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`registry/repos/${root}`, { name: 'nginx' })
    await cast().writesNothing(async () => {
      for (const [body, ...fields] of [
        [{ name: '' }, 'name'],
        [{ name: 'Nginx' }, 'name'],
        [{ name: 'a/b' }, 'name'],
        [{ name: 'a', description: 'x\u0000' }, 'description'],
        [{ name: '', description: '\u0007' }, 'name', 'description'],
        [{ name: 'a', catalogTier: 'GOLD' }, 'catalogTier'],
        [{ name: 'a', tier: 1 }, 'tier'],
        [{ name: 'a', customOverlay: { env: {} } }, 'customOverlay.env'],
      ] as const) {
        assertError(await owner.api.post(`registry/repos/${root}`, body), invalidFieldError(...fields))
        assertError(await owner.api.patch(`registry/repos/${uid}`, body), invalidFieldError(...fields))
      }
      assertError(await owner.api.post(`registry/repos/${root}`, {}), invalidFieldError('name'))
      const gone = `${root}/0123456789abcdef`
      assertError(
        await owner.api.post(`registry/repos/${gone}`, { name: 'a' }),
        notFoundError('iam.chainguard.dev/Group', gone),
      )
      for (const bad of ['x', root.slice(1)]) {
        assertError(await owner.api.get(`registry/repos/${bad}`), invalidFieldError('uid'))
        assertError(await owner.api.post(`registry/repos/${bad}`, { name: 'a' }), invalidFieldError('parent'))
      }
    })
  })

  test('the repos of a group have different names', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid: team } = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const first = await owner.api.create(`registry/repos/${root}`, { name: 'nginx' })
    await owner.api.create(`registry/repos/${team}`, { name: 'nginx' })
    const other = await owner.api.create(`registry/repos/${root}`, { name: 'other' })
    await cast().writesNothing(async () => {
      assertError(
        await owner.api.post(`registry/repos/${root}`, { name: 'nginx' }),
        alreadyExistsError(TYPE, first.uid),
      )
      assertError(
        await owner.api.patch(`registry/repos/${other.uid}`, { name: 'nginx' }),
        alreadyExistsError(TYPE, first.uid),
      )
    })
    const { body } = await owner.api.get('registry/repos', { 'uidp.descendants_of': root, name: 'nginx' })
    assert.equal(body.totalCount, '2')
    const empty = await owner.api.get('registry/repos', { 'uidp.descendants_of': root, name: '' })
    assert.equal(empty.body.totalCount, '3')
  })

  test('an update changes the named fields only', async () => {
    const { owner, uid: root } = await cast().organization()
    const full = { contents: { packages: ['curl'] }, ...customOverlay }
    const source = await makeSource(cast(), root)
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
      [
        { name: 'other', sync_config: { source: source.uid } },
        '*',
        () => ({ name: 'other', description: '', customOverlay: undefined }),
      ],
      [{ uid: 'x', createTime: '2001-01-01T00:00:00Z' }, 'uid,createTime,updateTime', () => ({})],
    ]
    for (const [body, mask, wanted] of cases) {
      const made = await makeCopy(cast().admin, root, source.uid, {
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

  test('R18: only the operator sets catalog fields', async () => {
    const { owner, uid: root } = await cast().organization()
    const { admin } = cast()
    const made = await owner.api.create(`registry/repos/${root}`, { name: 'nginx' })
    const source = await makeSource(cast(), root, catalog)
    const fields = { ...catalog, sync_config: { source: source.uid } }
    await cast().writesNothing(async () => {
      for (const [field, value] of Object.entries(fields)) {
        assertError(
          await owner.api.post(`registry/repos/${root}`, { name: 'other', [field]: value }),
          permissionDeniedError,
        )
        for (const mask of [undefined, field, '*']) {
          const body = { name: 'nginx', [field]: value }
          assertError(await owner.api.patch(`registry/repos/${made.uid}`, body, mask), permissionDeniedError)
        }
      }
    })
    const { status, body, text } = await admin.patch(`registry/repos/${made.uid}`, fields)
    assert.equal(status, 200, text)
    assert.deepEqual(
      [body.catalogTier, body.bundles, body.aliases, body.activeTags, body.sync_config.source],
      [...Object.values(catalog), source.uid],
    )
    // Restating them changes nothing, and the rest may change beside them.
    const restated = await owner.api.patch(
      `registry/repos/${made.uid}`,
      { name: 'nginx', ...fields, description: 'd' },
      '*',
    )
    assert.deepEqual([restated.status, restated.body.description], [200, 'd'], restated.text)
    assertError(
      await owner.api.patch(`registry/repos/${made.uid}`, { name: 'nginx' }, '*'),
      permissionDeniedError,
    )
    assertError(await owner.api.patch(`registry/repos/${made.uid}`, {}, 'bundles'), permissionDeniedError)
  })

  test('catalog fields of the operator are validated, field by field', async () => {
    const { uid: root } = await cast().organization()
    const { admin } = cast()
    const { uid } = await admin.create(`registry/repos/${root}`, { name: 'nginx' })
    const source = await makeSource(cast(), root)
    const { repoAliasesMax, repoAliasCharsMax, repoActiveTagsMax, syncDestinationCharsMax } = limits
    const alias = (chars: number) => `${'a'.repeat(chars - 2)}:b`
    const cases: readonly [body: object, ...fields: string[]][] = [
      [{ catalogTier: 99 }, 'catalogTier'],
      [{ bundles: ['gold'] }, 'bundles[0]'],
      [{ bundles: ['base', 'base'] }, 'bundles[1]'],
      [{ aliases: ['nginx'] }, 'aliases[0]'],
      [{ aliases: ['nginx:1', 'a b:1', ':1'] }, 'aliases[1]', 'aliases[2]'],
      [{ aliases: [alias(repoAliasCharsMax + 1)] }, 'aliases[0]'],
      [{ aliases: Array(repoAliasesMax + 1).fill('a:b') }, 'aliases'],
      [{ activeTags: ['1.27', '.1', ''] }, 'activeTags[1]', 'activeTags[2]'],
      [{ activeTags: ['a'.repeat(129)] }, 'activeTags[0]'],
      [{ activeTags: Array(repoActiveTagsMax + 1).fill('a') }, 'activeTags'],
      [{ sync_config: { source: source.uid, google: 'a b' } }, 'sync_config.google'],
      [{ syncConfig: { source: source.uid, amazon: '\u0000' } }, 'syncConfig.amazon'],
      [
        { syncConfig: { source: source.uid, azure: 'a'.repeat(syncDestinationCharsMax + 1) } },
        'syncConfig.azure',
      ],
      [{ name: '', sync_config: {} }, 'name', 'sync_config.source'],
    ]
    await cast().writesNothing(async () => {
      for (const [body, ...fields] of cases) {
        const whole = { name: 'other', ...body }
        assertError(await admin.post(`registry/repos/${root}`, whole), invalidFieldError(...fields))
        assertError(await admin.patch(`registry/repos/${uid}`, body), invalidFieldError(...fields))
      }
    })
    const most = {
      aliases: Array(repoAliasesMax).fill(alias(repoAliasCharsMax)),
      activeTags: Array(repoActiveTagsMax).fill('a'.repeat(128)),
    }
    const { status, body, text } = await admin.patch(`registry/repos/${uid}`, most)
    assert.equal(status, 200, text)
    assert.deepEqual([body.aliases, body.activeTags], [most.aliases, most.activeTags])
  })

  test('a copy starts with the values of its source, and keeps them', async () => {
    const { uid: root } = await cast().organization()
    const { admin } = cast()
    const source = await makeSource(cast(), root, { ...catalog, description: 'A web server' })
    const copy = await makeCopy(admin, root, source.uid)
    assert.deepEqual(
      Object.keys(catalog).map((field) => copy[field]),
      Object.values(catalog),
    )
    assert.equal(copy.description, 'A web server')
    assert.equal((await makeCopy(admin, root, source.uid, { description: 'mine' })).description, 'mine')
    const path = `registry/repos/${copy.uid}`
    await cast().writesNothing(async () => {
      for (const [field, value] of Object.entries(noCatalog)) {
        assertError(await admin.patch(path, { [field]: value }, field), invalidFieldError(field))
      }
      assertError(
        await admin.post(`registry/repos/${root}`, {
          name: 'other',
          sync_config: { source: source.uid },
          bundles: ['ai'],
        }),
        invalidFieldError('bundles'),
      )
      assert.equal((await admin.patch(path, catalog)).status, 200)
    })
    assert.equal((await admin.patch(path, { description: 'mine' })).body.description, 'mine')
    const other = await makeSource(cast(), root, { bundles: ['ai'] })
    const moved = await admin.patch(path, { sync_config: { source: other.uid } })
    assert.deepEqual(
      [moved.body.bundles, moved.body.catalogTier, moved.body.description],
      [['ai'], 'CATALOG_TIER_UNSPECIFIED', 'mine'],
    )
    // Without a source it is its own again.
    const freed = await admin.patch(path, { sync_config: null, bundles: [] }, 'sync_config,bundles')
    assert.equal(freed.status, 200, freed.text)
    assert.deepEqual([freed.body.bundles, freed.body.sync_config], [[], undefined])
    // A repo that becomes a copy later, too.
    const late = await admin.patch(path, { sync_config: { source: source.uid } })
    assert.deepEqual(late.body.activeTags, catalog.activeTags)
  })

  test('changes of a source reach its copies, and theirs, in every organization', async () => {
    const { uid: root } = await cast().organization()
    const { admin, berth } = cast()
    const [elsewhere, stranger] = [await cast().organization(), await cast().organization()]
    const source = await makeSource(cast(), root, catalog)
    const first = await makeCopy(admin, root, source.uid, { customOverlay })
    const second = await makeCopy(admin, elsewhere.uid, first.uid)
    const apart = await makeCopy(admin, stranger.uid, (await makeSource(cast(), root)).uid)
    const read = async (repo: { uid: string }) => admin.get(`registry/repos/${repo.uid}`)
    const before = await read(second)
    const etag = before.headers.get('etag') ?? ''

    berth.advance(5)
    const changed = { ...catalog, catalogTier: 'CATALOG_TIER_BASE', bundles: ['fips'], activeTags: ['2'] }
    assert.equal((await admin.patch(`registry/repos/${source.uid}`, changed)).status, 200)
    for (const copy of [first, second]) {
      const { body } = await read(copy)
      const { updateTime } = body
      assert.ok(updateTime > copy.updateTime)
      assert.deepEqual(body, { ...copy, ...changed, updateTime })
      // It is what the copy has, so nothing is changed.
      await cast().writesNothing(async () => {
        const again = await admin.patch(`registry/repos/${copy.uid}`, changed)
        assert.deepEqual([again.status, again.body], [200, body])
      })
    }
    const address = `${berth.url}/registry/v2beta1/repos/${second.uid}`
    const fresh = await call('GET', address, { token: admin.token, headers: { 'if-none-match': etag } })
    assert.equal(fresh.status, 200)
    const query = { 'uidp.descendants_of': elsewhere.uid, order_by: 'updated_at desc' }
    assert.deepEqual((await elsewhere.owner.api.get('registry/repos', query)).body.repos, [fresh.body])
    assert.deepEqual((await read(apart)).body, apart)

    // One that is described alike stays the version that it is.
    assert.equal((await admin.patch(`registry/repos/${source.uid}`, { description: 'x' })).status, 200)
    assert.deepEqual((await read(second)).body, fresh.body)
    // A copy that takes another source takes its own copies along, and a circle is no trouble.
    const other = await makeSource(cast(), root, { bundles: ['ai'] })
    const moved = await admin.patch(`registry/repos/${first.uid}`, { sync_config: { source: other.uid } })
    assert.deepEqual(moved.body.bundles, ['ai'])
    assert.deepEqual((await read(second)).body.bundles, ['ai'])
    const circle = await admin.patch(`registry/repos/${first.uid}`, { sync_config: { source: second.uid } })
    assert.deepEqual([circle.status, circle.body.bundles], [200, ['ai']])
    // A repo without a source does not follow another one.
    await admin.patch(`registry/repos/${second.uid}`, { sync_config: null }, 'sync_config')
    await admin.patch(`registry/repos/${second.uid}`, { bundles: ['base'] })
    assert.deepEqual((await read(first)).body.bundles, ['base'])
    assert.deepEqual((await read(other)).body, other)
  })

  test('copying ends syncLifetimeMs after the source was first set, and no caller sets output-only fields', async () => {
    const { owner, uid: root } = await cast().organization()
    const { admin } = cast()
    const [one, two] = [await makeSource(cast(), root), await makeSource(cast(), root)]
    const own = {
      uniqueTags: true,
      expirationTime: '2001-01-01T00:00:00Z',
      apkoOverlay: '{}',
      gracePeriod: true,
    }
    const made = await admin.create(`registry/repos/${root}`, {
      name: 'copy',
      sync_config: { source: one.uid, azure: 'a.example/b', ...own },
    })
    assert.deepEqual(
      { ...made.sync_config, expirationTime: Date.parse(made.sync_config.expirationTime) },
      {
        source: one.uid,
        uniqueTags: false,
        expirationTime: Date.parse(made.createTime) + limits.syncLifetimeMs,
        google: '',
        amazon: '',
        azure: 'a.example/b',
        apkoOverlay: '',
        gracePeriod: false,
      },
    )
    cast().berth.advance(5000)
    const path = `registry/repos/${made.uid}`
    for (const mask of [
      undefined,
      '*',
      'sync_config',
      'sync_config.expiration_time,sync_config.unique_tags',
    ]) {
      const body = { name: 'copy', sync_config: { source: one.uid, azure: 'a.example/b', ...own } }
      const { status, body: same, text } = await admin.patch(path, body, mask)
      assert.equal(status, 200, text)
      assert.deepEqual(same, made)
      // Every caller may send the current values.
      assert.equal((await owner.api.patch(path, body, mask)).status, 200)
    }
    const moved = await admin.patch(path, { sync_config: { source: two.uid } })
    assert.deepEqual(moved.body.sync_config, { ...made.sync_config, source: two.uid })
  })

  test('a source is given by uid, by organization and name, or as an image of this registry', async () => {
    const { owner, uid: root, name } = await cast().organization()
    const { uid: team } = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const { admin, berth } = cast()
    const host = new URL(berth.url).host
    const source = await makeSource(cast(), root, { name: 'web server' })
    const below = await makeSource(cast(), team, { name: 'below' })
    const cataloged = `${name}/web server`
    const digest = `sha256:${'0'.repeat(64)}`
    for (const text of [
      source.uid,
      cataloged,
      `${host}/${cataloged}`,
      `${host.toUpperCase()}/${cataloged}:1.27`,
      `${host}/${cataloged}@${digest}`,
      `${host}/${cataloged}:1.27@${digest}`,
    ]) {
      const copy = await makeCopy(admin, root, text)
      assert.equal(copy.sync_config.source, source.uid, text)
      // Once more by any name is no change.
      await cast().writesNothing(() =>
        admin.patch(`registry/repos/${copy.uid}`, { sync_config: { source: text } }),
      )
    }
    assert.equal((await makeCopy(admin, root, below.uid)).sync_config.source, below.uid)
    const copy = await makeCopy(admin, root, source.uid)
    await cast().writesNothing(async () => {
      for (const text of [
        '',
        'x',
        root,
        copy.uid,
        `${root}/0123456789abcdef`,
        `${name}/nginx`,
        `${name}/below`,
        `nobody-${name}/web server`,
        `${cataloged}:1.27`,
        `docker.io/${cataloged}`,
        `${host}/${cataloged}:`,
        `${host}/${name}/team/below`,
        `${cataloged}/`,
        `/${cataloged}`,
        'web server',
      ]) {
        const body = { sync_config: { source: text } }
        assertError(
          await admin.patch(`registry/repos/${copy.uid}`, body, 'sync_config'),
          invalidFieldError('sync_config.source'),
        )
        if (text === copy.uid) continue
        assertError(
          await admin.post(`registry/repos/${root}`, { name: 'other', ...body }),
          invalidFieldError('sync_config.source'),
        )
      }
    })
  })

  test('R17: a source that the caller may not read gets the response of a missing one', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const secret = await makeSource(cast(), theirs.uid, { name: 'secret' })
    const { uid } = await mine.owner.api.create(`registry/repos/${mine.uid}`, { name: 'nginx' })
    // What an operator's token can do when it is narrowed to one organization.
    const { berth } = cast()
    const narrowed = {
      ...cast().admin,
      ...apiOf(berth, await berth.tokenOf(berth.owner, { scopes: [mine.uid] })),
    }
    const readable = await makeSource(cast(), mine.uid)
    assert.equal((await makeCopy(narrowed, mine.uid, readable.uid)).sync_config.source, readable.uid)
    await cast().writesNothing(async () => {
      const answers = []
      for (const source of [
        secret.uid,
        `${theirs.name}/secret`,
        `${theirs.uid}/0123456789abcdef`,
        `${theirs.name}/missing`,
      ]) {
        const body = { sync_config: { source } }
        const reply = await narrowed.patch(`registry/repos/${uid}`, body)
        assertError(reply, invalidFieldError('sync_config.source'))
        answers.push(reply.text)
        assertError(await mine.owner.api.patch(`registry/repos/${uid}`, body), permissionDeniedError)
      }
      assert.equal(new Set(answers).size, 1)
    })
  })

  test('a custom overlay needs a source, and must be valid', async () => {
    const { owner, uid: root } = await cast().organization()
    const { admin } = cast()
    const disabled = failedPreconditionError('CUSTOM_ASSEMBLY_DISABLED')
    const source = await makeSource(cast(), root)
    const plain = await owner.api.create(`registry/repos/${root}`, { name: 'plain' })
    const copy = await makeCopy(admin, root, source.uid, { customOverlay })
    const path = `registry/repos/${copy.uid}`
    await cast().writesNothing(async () => {
      for (const api of [owner.api, admin]) {
        assertError(await api.post(`registry/repos/${root}`, { name: 'a', customOverlay }), disabled)
        assertError(await api.patch(`registry/repos/${plain.uid}`, { customOverlay }), disabled)
      }
      assertError(await admin.patch(path, {}, 'sync_config'), disabled)
      // Invalid fields are reported before the state.
      const reserved = { environment: { CHAINGUARD_X: '1' }, annotations: { 'dev.chainguard.x': '1' } }
      for (const target of [plain.uid, copy.uid]) {
        assertError(
          await owner.api.patch(`registry/repos/${target}`, { customOverlay: reserved }),
          invalidFieldError('customOverlay.environment', 'customOverlay.annotations'),
        )
      }
      const big = { environment: { A: 'x'.repeat(limits.overlayBytesMax) } }
      assertError(await owner.api.patch(path, { customOverlay: big }), invalidFieldError('customOverlay'))
      assertError(
        await owner.api.patch(path, { custom_overlay: { accounts: { users: [{ uid: -1 }] } } }),
        invalidFieldError(
          'custom_overlay.accounts.users[0].username',
          'custom_overlay.accounts.users[0].uid',
        ),
      )
    })
    const stranger = (await cast().organization()).owner
    assertError(await stranger.api.patch(path, { customOverlay }), permissionDeniedError)
    const changed = await owner.api.patch(path, { customOverlay: { accounts: { runAs: 'app' } } })
    assert.equal(changed.body.customOverlay.accounts.runAs, 'app')
    const freed = await admin.patch(path, {}, 'sync_config,custom_overlay')
    assert.deepEqual([freed.status, freed.body.customOverlay], [200, undefined], freed.text)
  })

  testOnce(
    'an overlay can have its full length (overlayBytesMax), and longer requests say what is allowed',
    async () => {
      const { owner, uid: root } = await cast().organization()
      const { admin, grpc } = cast()
      const source = await makeSource(cast(), root)
      const overlay = { environment: { A: 'x'.repeat(limits.overlayBytesMax - 10_000) } }
      const uids: string[] = []
      for (let at = 0; at < 3; at++) {
        const { uid } = await makeCopy(admin, root, source.uid, { customOverlay })
        const patched = await owner.api.patch(`registry/repos/${uid}`, { customOverlay: overlay })
        assert.equal(patched.status, 200, patched.text.slice(0, 300))
        uids.push(uid)
      }
      // A page ends early, and has at least one repo (listedOverlaysBytesMax).
      const listed: string[] = []
      let pageToken = ''
      do {
        const query = { 'uidp.children_of': root, page_size: '50', page_token: pageToken, order_by: 'uid' }
        const { body } = await owner.api.get('registry/repos', query)
        assert.ok(body.repos.length >= 1 && body.repos.length <= 2, `${body.repos.length}`)
        listed.push(...body.repos.map(({ uid }: { uid: string }) => uid))
        pageToken = body.nextPageToken
      } while (pageToken !== '')
      assert.deepEqual(listed, [...uids, source.uid].toSorted())

      const certificates = {
        additional: [{ name: 'a.pem', content: 'x'.repeat(limits.overlayCertificatesBytesMax + 1) }],
      }
      const refused = await owner.api.patch(
        `registry/repos/${uids[0]}`,
        { customOverlay: { certificates } },
        'custom_overlay',
      )
      assertError(refused, invalidFieldError('customOverlay.certificates.additional'))

      const { token } = owner.api
      const longer = { environment: { A: 'x'.repeat(limits.repoRequestBytesMax) } }
      const body = await owner.api.patch(`registry/repos/${uids[0]}`, { customOverlay: longer })
      assert.deepEqual(
        [body.status, body.body.code, body.body.details[1].fieldViolations[0].field],
        [413, 3, 'body'],
      )
      assert.match(body.body.message, new RegExp(`larger than ${limits.repoRequestBytesMax} bytes`))
      const repo = { uid: uids[0]!, customOverlay: longer }
      await assert.rejects(
        grpc.call(ReposService.method.updateRepo, { repo }, { token }),
        (error: GrpcFailure) => {
          assert.equal(error.code, 3)
          assert.match(error.details, new RegExp(`larger than ${limits.repoRequestBytesMax} bytes`))
          return true
        },
      )
    },
  )

  test('R18: no caller can set output-only fields', async () => {
    const { uid: root } = await cast().organization()
    const own = {
      uid: 'f'.repeat(40),
      createTime: '2001-01-01T00:00:00Z',
      updateTime: '2001-01-01T00:00:00Z',
    }
    const made = await cast().admin.create(`registry/repos/${root}`, { name: 'nginx', ...own })
    for (const member of ['uid', 'createTime', 'updateTime'] as const)
      assert.notEqual(made[member], own[member])
    const { body } = await cast().admin.patch(`registry/repos/${made.uid}`, { name: 'nginx', ...own }, '*')
    assert.deepEqual(body, made)
  })

  test('R17: repos of another organization can be neither read nor written', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const { uid } = await theirs.owner.api.create(`registry/repos/${theirs.uid}`, { name: 'nginx' })
    await cast().writesNothing(async () => {
      for (const other of [uid, `${theirs.uid}/0123456789abcdef`]) {
        assertError(await mine.owner.api.get(`registry/repos/${other}`), permissionDeniedError)
        assertError(
          await mine.owner.api.patch(`registry/repos/${other}`, { description: 'd' }),
          permissionDeniedError,
        )
        assertError(await mine.owner.api.delete(`registry/repos/${other}`), permissionDeniedError)
      }
      assertError(
        await mine.owner.api.post(`registry/repos/${theirs.uid}`, { name: 'a' }),
        permissionDeniedError,
      )
    })
    const { body } = await mine.owner.api.get('registry/repos', { 'uidp.ids': uid })
    assert.deepEqual([body.repos, body.totalCount], [[], '0'])
  })

  test('each change writes one audit record, a failed or empty one none', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`registry/repos/${root}`, { name: 'nginx' })
    await owner.api.patch(`registry/repos/${uid}`, { description: 'd' })
    await cast().writesNothing(() => owner.api.patch(`registry/repos/${uid}`, { name: 'nginx' }))
    await owner.api.patch(`registry/repos/${uid}`, { name: '' })
    await owner.api.delete(`registry/repos/${uid}`)
    assert.deepEqual(
      (await cast().auditEventsOf(uid)).map(({ method }) => method.split('/')[1]),
      ['CreateRepo', 'UpdateRepo', 'DeleteRepo'],
    )
  })
})

interface Overlaid {
  readonly customOverlay: object
}
