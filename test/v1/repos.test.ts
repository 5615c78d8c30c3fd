import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CatalogTier, Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { checkReadme } from '@berth/server/registry/readmes/readme-check.ts'
import { countCopies } from '@berth/server/registry/resources/sources/repo-source.ts'
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

/** Repos of version 1, in their exact shape. */

/** Of a request whose time is compared. */
const ATTEMPTS = 10

const TYPE = 'registry.chainguard.dev/Repo'
const readme = '# nginx\n\nA *web* server.\n'

onEveryDatabase('repos of version 1', (cast) => {
  const newTeam = async () => {
    const organization = await cast().organization()
    const operator = v1ClientOf(cast(), cast().admin)
    return { ...organization, operator, owned: v1ClientOf(cast(), organization.owner.api) }
  }

  test('are created, listed, replaced and deleted in the format of version 1', async () => {
    const { uid: root, owned, owner } = await newTeam()
    const name = newName('repo')
    const made = await owned.post(`registry/repos/${root}`, { name, description: 'one', nobodyKnows: 1 })
    assert.equal(made.status, 200, made.text)
    const { id, createdAt, updatedAt } = made.body
    const expected = {
      id,
      name,
      catalogTier: 'UNKNOWN',
      bundles: [],
      readme: '',
      sync_config: null,
      customOverlay: null,
      aliases: [],
      createTime: createdAt,
      activeTags: [],
      description: 'one',
      createdAt,
      updatedAt,
    }
    assert.deepEqual(made.body, expected)
    const newer = (await owner.api.get(`registry/repos/${id}`)).body
    assert.deepEqual([newer.uid, newer.createTime, newer.updateTime], [id, createdAt, updatedAt])
    const listed = await owned.get(`registry/repos?id=${id}&page_size=x`)
    assert.deepEqual(listed.body, { items: [expected] })
    for (const query of ['id=nothing', `id=${root}/0123456789abcdef`, `id=${id}&name=another`])
      assert.deepEqual((await owned.get(`registry/repos?${query}`)).body, { items: [] }, query)
    const renamed = newName('renamed')
    const replaced = await owned.put(`registry/repos/${id}`, {
      id: 'another',
      name: renamed,
      createTime: null,
    })
    assert.deepEqual(
      [replaced.body.id, replaced.body.name, replaced.body.description, replaced.body.createTime],
      [id, renamed, '', createdAt],
    )
    assert.ok(replaced.body.updatedAt > updatedAt)
    assertError(await owned.put(`registry/repos/${id}`, { description: 'x' }), invalidFieldError('name'))
    const deleted = await owned.delete(`registry/repos/${id}`)
    assert.deepEqual([deleted.status, deleted.text], [200, '{}'])
    assertError(await owned.delete(`registry/repos/${id}`), notFoundError(TYPE, id))
    assertError(await owned.put(`registry/repos/${id}`, { name }), notFoundError(TYPE, id))
  })

  test('a create replaces an existing repo of its name, unless that is forbidden', async () => {
    const { uid: root, owned, operator, member } = await newTeam()
    const name = newName('repo')
    const path = `registry/repos/${root}`
    const { body: first } = await owned.post(path, { name, description: 'one' })
    assertError(
      await owned.post(`${path}?prevent_existing=true`, { name }),
      alreadyExistsError(TYPE, first.id),
    )
    assertError(
      await owned.post(`${path}?preventExisting=true`, { name }),
      alreadyExistsError(TYPE, first.id),
    )
    const { body: second } = await owned.post(path, { name, description: 'two' })
    assert.deepEqual([second.id, second.description], [first.id, 'two'])
    await cast().writesNothing(async () => {
      assert.deepEqual((await owned.post(path, { name, description: 'two' })).body, second)
    })
    // Who may only create learns that the name is taken, and nothing of the repo (R35).
    for (const capabilities of [['CAP_REPO_CREATE'], ['CAP_REPO_CREATE', 'CAP_REPO_LIST']]) {
      const role = await cast().admin.create(`iam/roles/${root}`, { name: newName('creator'), capabilities })
      const creator = v1ClientOf(cast(), (await member(role.uid)).api)
      await cast().writesNothing(async () => {
        for (const body of [
          { name, description: 'two' },
          { name, description: 'three' },
          { name, catalogTier: 'FIPS' },
          { name, readme },
          { name, sync_config: { source: 'nothing' } },
        ]) {
          const reply = await creator.post(path, body)
          assertError(reply, permissionDeniedError)
          assert.ok(reply.text.includes(root) && !reply.text.includes(first.id), reply.text)
        }
        if (capabilities.length === 1) {
          const reply = await creator.post(`${path}?prevent_existing=true`, { name })
          assertError(reply, alreadyExistsError(TYPE, name))
          assert.ok(!reply.text.includes(first.id), reply.text)
        }
      })
    }
    // Together, one of them makes it and all of them answer.
    const together = newName('together')
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => operator.post(path, { name: together, readme })),
    )
    assert.deepEqual(
      replies.map(({ status, body }) => [status, body.id, body.readme]),
      replies.map(() => [200, replies[0]?.body.id, readme]),
    )
  })

  test('a create that is repeated with its key gets the first response', async () => {
    const { uid: root, owned } = await newTeam()
    const path = `registry/repos/${root}?prevent_existing=true`
    const [name, key] = [newName('repo'), { 'idempotency-key': newName('key') }]
    const first = await owned.post(path, { name }, key)
    assert.equal(first.status, 200, first.text)
    await owned.put(`registry/repos/${first.body.id}`, { name, description: 'changed since' })
    await cast().writesNothing(async () => {
      const again = await owned.post(path, { name }, key)
      assert.deepEqual([again.status, again.text], [200, first.text])
      const reused = { status: 422, code: 9, violation: 'IDEMPOTENCY_KEY_REUSED' } as const
      assertError(await owned.post(path, { name: newName('other') }, key), reused)
      assertError(await owned.post(path, { name }), alreadyExistsError(TYPE, first.body.id))
    })
    const tags = `registry/tags/${first.body.id}`
    const other = { 'idempotency-key': newName('key') }
    const tag = await owned.post(tags, { name: 'latest' }, other)
    await owned.put(`registry/tags/${tag.body.id}`, { name: 'latest', deprecated: true })
    assert.equal((await owned.post(tags, { name: 'latest' }, other)).text, tag.text)
    assert.ok(tag.body.updatedAt && first.body.createdAt && first.body.updatedAt)
  })

  test('the README of a repo is a field of it', async () => {
    const { uid: root, owned, operator, owner } = await newTeam()
    const name = newName('repo')
    const { body } = await operator.post(`registry/repos/${root}`, { name, readme })
    assert.equal(body.readme, readme)
    const pageOf = async (id: string) => (await owner.api.get(`registry/repos/${id}/readme`)).body.content
    assert.equal(await pageOf(body.id), readme)
    assert.equal((await owned.get(`registry/repos?id=${body.id}`)).body.items[0].readme, readme)
    const path = `registry/repos/${body.id}`
    // The operator alone writes it.
    await cast().writesNothing(async () => {
      assertError(await owned.put(path, { name, readme: 'another' }), permissionDeniedError)
      assertError(
        await owned.post(`registry/repos/${root}`, { name: newName('other'), readme }),
        permissionDeniedError,
      )
      // Both change, or neither does.
      const unsafe = '<script>alert(1)</script>'
      assertError(
        await operator.put(path, { name, description: 'x', readme: unsafe }),
        invalidFieldError('readme'),
      )
    })
    const kept = await owned.put(path, { name, description: 'x', readme })
    assert.deepEqual([kept.status, kept.body.description, kept.body.readme], [200, 'x', readme])
    assert.equal((await operator.put(path, { name })).body.readme, '')
    assert.equal(await pageOf(body.id), '')
  })

  test('fields of the operator stay when another caller omits them', async () => {
    const { uid: root, owned, operator } = await newTeam()
    const source = (await operator.post(`registry/repos/${root}`, { name: newName('from') })).body.id
    const catalog = {
      catalogTier: 'FIPS',
      bundles: ['fips'],
      aliases: ['web:1'],
      activeTags: ['1.27'],
      readme,
    }
    const name = newName('repo')
    const { body } = await operator.post(`registry/repos/${root}`, { name, ...catalog })
    const path = `registry/repos/${body.id}`
    const put = await owned.put(path, { name, description: 'x' })
    assert.equal(put.status, 200, put.text)
    assert.deepEqual(put.body, { ...body, description: 'x', updatedAt: put.body.updatedAt })
    const empty = {
      catalogTier: 'UNKNOWN',
      bundles: [],
      aliases: [],
      activeTags: [],
      readme: '',
      sync_config: null,
    }
    const posted = await owned.post(`registry/repos/${root}`, { name, description: 'y', ...empty })
    assert.deepEqual(posted.body, { ...body, description: 'y', updatedAt: posted.body.updatedAt })
    await cast().writesNothing(async () => {
      for (const other of [
        { catalogTier: 'BASE' },
        { bundles: ['base'] },
        { aliases: ['web:2'] },
        { activeTags: ['1.28'] },
        { readme: 'another' },
        { sync_config: { source } },
      ])
        assertError(await owned.put(path, { name, description: 'y', ...other }), permissionDeniedError)
    })
    const reset = await operator.put(path, { name })
    assert.deepEqual([reset.body.catalogTier, reset.body.bundles, reset.body.readme], ['UNKNOWN', [], ''])

    const copying = { source, google: 'europe-docker.pkg.dev/acme/images' }
    const copied = (await operator.put(path, { name, sync_config: copying })).body.sync_config
    for (const sync_config of [undefined, {}, { source }, { ...copied, amazon: '' }]) {
      const reply = await owned.put(path, { name, description: JSON.stringify(sync_config), sync_config })
      assert.deepEqual([reply.status, reply.body.sync_config], [200, copied], reply.text)
    }
    assertError(
      await owned.put(path, { name, sync_config: { source, amazon: 'elsewhere' } }),
      permissionDeniedError,
    )
    assert.equal((await operator.put(path, { name, sync_config: { source } })).body.sync_config.google, '')
    assert.equal((await operator.put(path, { name })).body.sync_config, null)
  })

  test('the operator sets when a repo stops copying another one', async () => {
    const { uid: root, owned, operator } = await newTeam()
    const source = (await operator.post(`registry/repos/${root}`, { name: newName('from') })).body.id
    const name = newName('copy')
    const end = { expiration: '2031-02-03T04:05:06.123Z', gracePeriod: true }
    const ofCopy = async () => {
      const { body } = await owned.get(`registry/repos?name=${name}`)
      const { expiration, gracePeriod } = body.items[0].sync_config
      return { expiration, gracePeriod }
    }
    const made = await operator.post(`registry/repos/${root}`, { name, sync_config: { source, ...end } })
    assert.equal(made.status, 200, made.text)
    assert.deepEqual(await ofCopy(), end)
    const path = `registry/repos/${made.body.id}`
    await cast().writesNothing(async () => {
      // To others it is output, which they need not leave out.
      const other = { source, expiration: '2040-01-01T00:00:00Z', gracePeriod: false }
      assert.deepEqual((await owned.put(path, { name, sync_config: other })).body, made.body)
      assert.deepEqual((await operator.put(path, made.body)).body, made.body)
    })
    const later = { expiration: '2032-01-01T00:00:00.000Z', gracePeriod: false }
    await operator.put(path, { name, sync_config: { source, ...later } })
    assert.deepEqual(await ofCopy(), later)
    await operator.put(path, { name, description: 'x', sync_config: { source, gracePeriod: true } })
    assert.deepEqual(await ofCopy(), { ...later, gracePeriod: true })
    // What all copies of an organization have is not taken from one, nor becomes its own.
    await operator.put(path, { name, description: 'x', sync_config: { source } })
    const settings = (eolGracePeriod: boolean) =>
      operator.put(`registry/settings/${root}`, { eolGracePeriod })
    await settings(true)
    await cast().writesNothing(() => operator.put(path, { name, description: 'x', sync_config: { source } }))
    await operator.put(path, { name, sync_config: { source, gracePeriod: true } })
    assert.deepEqual(await ofCopy(), { ...later, gracePeriod: true })
    await settings(false)
    assert.deepEqual(await ofCopy(), later)
    const bad = { repo: { name: newName('bad'), syncConfig: { source, expiration: { seconds: 1n << 60n } } } }
    await assert.rejects(
      cast().grpc.call(Registry.method.createRepo, { parentId: root, ...bad }, cast().admin),
      {
        code: 3,
      },
    )
  })

  test('a README is checked only for callers who may write it, and not again when it is stored', async () => {
    const { uid: root, owned, operator } = await newTeam()
    const name = newName('repo')
    // Among the slowest of its length.
    const slow = '- x\n'.repeat(limits.readmeBytesMax / 4)
    const timed = async <T>(work: () => Promise<T>) => {
      const start = performance.now()
      await work()
      return { ms: performance.now() - start }
    }
    await checkReadme(slow)
    const { ms: reading } = await timed(() => checkReadme(slow))
    const { body } = await operator.post(`registry/repos/${root}`, { name, readme: slow })
    assert.equal(body.readme, slow)
    const path = `registry/repos/${body.id}`
    // Another process may delay one request, hardly each of several: only a check makes all of them slow.
    const isQuick = async (ask: () => Promise<unknown>) => {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1)
        if ((await timed(ask)).ms < reading / 2) return true
      return false
    }
    for (const ask of [
      () => owned.post(`registry/repos/${root}`, { name, readme: `${slow.slice(4)}y` }),
      () => owned.post(`registry/repos/${root}`, { name: newName('other'), readme: slow }),
      () => owned.put(path, { name, readme: `${slow.slice(4)}y` }),
    ]) {
      assertError(await ask(), permissionDeniedError)
      assert.ok(await isQuick(ask))
    }
    const update = () => operator.put(path, { name, readme: slow, description: 'x' })
    const same = await update()
    assert.deepEqual([same.status, same.body.description], [200, 'x'])
    assert.ok(await isQuick(update))
  })

  test('a repo that copies another one shows the values of that one, without sending them again', async () => {
    const { uid: root, owned, operator } = await newTeam()
    const catalog = {
      catalogTier: 'FIPS',
      bundles: ['fips'],
      aliases: ['web:1'],
      activeTags: ['1.27'],
      readme,
    }
    const { body: source } = await operator.post(`registry/repos/${root}`, {
      name: newName('from'),
      ...catalog,
    })
    const name = newName('copy')
    const sync = { sync_config: { source: source.id, syncApks: true } }
    const { body: copy } = await operator.post(`registry/repos/${root}`, { name, ...sync })
    const inherited = ({ catalogTier, bundles, aliases, activeTags, readme }: Record<string, unknown>) => ({
      catalogTier,
      bundles,
      aliases,
      activeTags,
      readme,
    })
    assert.deepEqual(inherited(copy), catalog)
    const { expiration } = copy.sync_config
    assert.deepEqual(copy.sync_config, {
      source: source.id,
      uniqueTags: false,
      expiration,
      google: '',
      amazon: '',
      azure: '',
      syncApks: false,
      apkoOverlay: '',
      gracePeriod: false,
    })
    const path = `registry/repos/${copy.id}`
    const accounts = {
      groups: [{ gid: 7, groupName: 'web', members: ['nginx'] }],
      users: [
        { uid: 65532, userName: 'nginx', gid: 7, groupName: 'web', shell: '/bin/sh', homeDir: '/home' },
      ],
      runAs: 'nginx',
    }
    const customOverlay = {
      contents: { packages: ['curl'], runtimeRepositories: ['https://apk.example'], runtimeKeyring: [] },
      environment: { LANG: 'C' },
      annotations: { 'com.example.team': 'web' },
      accounts,
      certificates: { additional: [], providers: ['ca-certificates'] },
    }
    const changed = await owned.put(path, { name, ...sync, customOverlay })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(inherited(changed.body), catalog)
    assert.deepEqual(changed.body.customOverlay, customOverlay)
    assert.equal(changed.body.sync_config.expiration, expiration)
    assert.deepEqual((await owned.get(`registry/repos?id=${copy.id}`)).body.items, [changed.body])
    assertError(await operator.put(path, { name, ...sync, bundles: ['base'] }), invalidFieldError('bundles'))
    assertError(await operator.put(path, { name, ...sync, readme: 'another' }), invalidFieldError('readme'))
    const large = { ...customOverlay, accounts: { users: [{ userName: 'x', uid: 4294967295 }] } }
    assertError(
      await owned.put(path, { name, ...sync, customOverlay: large }),
      invalidFieldError('customOverlay.accounts.users[0].uid'),
    )
    const nameless = { ...customOverlay, accounts: { users: [{ userName: '7' }] } }
    assertError(
      await owned.put(path, { name, ...sync, customOverlay: nameless }),
      invalidFieldError('customOverlay.accounts.users[0].userName'),
    )
    const count = async (api: typeof owned, id: string) => api.get(`registry/repocountbysource/${id}`)
    assert.deepEqual((await count(owned, source.id)).body, { count: '1' })
    const elsewhere = await newTeam()
    const other = await operator.post(`registry/repos/${elsewhere.uid}`, { name, ...sync })
    assert.equal(other.status, 200, other.text)
    assert.deepEqual((await count(owned, source.id)).body, { count: '1' })
    assert.deepEqual((await count(operator, source.id)).body, { count: '2' })
    assertError(await count(elsewhere.owned, source.id), permissionDeniedError)
    // Of teams in the organization only where the caller has them, however many.
    const { admin } = cast()
    const teams = await Promise.all(
      Array.from({ length: 3 }, () => admin.create(`iam/groups/${root}`, { name: newName('team') })),
    )
    for (const { uid } of teams) await operator.post(`registry/repos/${uid}`, { name, ...sync })
    assert.deepEqual((await count(owned, source.id)).body, { count: '4' })
    const { db } = cast().berth.berth.installation.store
    const held = (scopes: readonly string[]) =>
      countCopies({ db }, { scopesHolding: () => scopes } as never, source.id)
    const [one = '', two = '', three = ''] = teams.map(({ uid }) => uid)
    const many = Array.from(
      { length: db.sizes.branchesMax },
      (_, n) => `${elsewhere.uid}/${String(n).padStart(16, '0')}`,
    )
    assert.deepEqual(
      await Promise.all([[], [one], [one, two], [''], [root, elsewhere.uid], [three, ...many]].map(held)),
      [0, 1, 2, 5, 5, 1],
    )
  })

  test('image tiers have numbers of their own', async () => {
    const { uid: root, operator } = await newTeam()
    const { grpc, admin } = cast()
    const { createRepo, listRepos } = Registry.method
    const name = newName('repo')
    const made = await grpc.call(
      createRepo,
      { parentId: root, repo: { name, catalogTier: CatalogTier.DEVTOOLS } },
      admin,
    )
    assert.equal(made.catalogTier, 8)
    assert.equal((await admin.get(`registry/repos/${made.id}`)).body.catalogTier, 'CATALOG_TIER_DEVTOOLS')
    const { items } = await grpc.call(listRepos, { name, uidp: { childrenOf: root } }, admin)
    assert.deepEqual(items, [made])
    const path = `registry/repos/${root}`
    assert.equal(
      (await operator.post(path, { name: newName('repo'), catalogTier: 9 })).body.catalogTier,
      'COMMERCIAL',
    )
    // Numbers that only version 2 has, or no version any more.
    for (const catalogTier of [1, 3, 10])
      assertError(
        await operator.post(path, { name: newName('repo'), catalogTier }),
        invalidFieldError('catalogTier'),
      )
  })

  test('the READMEs of a list have a common limit', async () => {
    const { uid: root, operator, owned } = await newTeam()
    const { kysely } = cast().berth.berth.installation.store.db
    const { body } = await operator.post(`registry/repos/${root}`, { name: newName('repo'), readme })
    const listed = `registry/repos?uidp.children_of=${root}`
    assert.equal((await owned.get(listed)).status, 200)
    await kysely
      .updateTable('repo_readmes')
      .set({ content: 'x'.repeat(limits.listedReadmesBytesMax + 1) })
      .where('uid', '=', body.id)
      .execute()
    const refused = await owned.get(listed)
    assert.equal(refused.body.details[1].violations[0].type, 'LIST_TOO_LONG', refused.text.slice(0, 300))
  })
})
