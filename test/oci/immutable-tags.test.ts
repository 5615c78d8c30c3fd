import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  failedPreconditionError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import {
  assertOciError,
  createRegistryFixture,
  imageFromManifest,
  pushImage,
  putManifest,
  testImage,
  types,
} from '../support/registry/registry.ts'

onEveryDatabase('registry: immutable tags', (cast) => {
  const prepared = async (immutableTags: object) => {
    const registry = await createRegistryFixture(cast())
    const { owner, name, organization, root } = registry
    const image = await pushImage(owner, name, testImage(), 'v1.0')
    const { api } = organization.owner
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
    const path = `registry/repos/${repo}/policy`
    const policy = await api.patch(path, { immutableTags })
    assert.equal(policy.status, 200, JSON.stringify(policy.body))
    const other = testImage()
    await pushImage(owner, name, other)
    const tagOf = async (tag: string) => {
      const { body } = await api.get('registry/tags', { 'uidp.descendants_of': root, name: tag })
      return body.tags[0]
    }
    return { ...registry, api, image, other, repo, path, tagOf }
  }
  const releases = { patterns: ['v*'], exceptions: ['v*-rc?'] }
  const immutable = failedPreconditionError('TAG_IMMUTABLE')

  test('no caller can move or delete one by any method, and every pusher can push it again', async () => {
    const { owner, name, api, image, other, repo, tagOf } = await prepared(releases)
    const { uid } = await tagOf('v1.0')
    const moved = await putManifest(owner, name, 'v1.0', other)
    assertOciError(moved, 403, 'DENIED')
    assert.match(moved.json.errors[0].message, /tag v1\.0 of repo .* is immutable/)
    const byDigest = await putManifest(owner, name, `${other.digest}?tag=new&tag=v1.0`, other)
    assertOciError(byDigest, 403, 'DENIED')
    assert.equal(await tagOf('new'), undefined)
    assertOciError(await owner.request('DELETE', `${name}/manifests/v1.0`), 403, 'DENIED')
    assertOciError(await owner.request('DELETE', `${name}/manifests/${image.digest}`), 403, 'DENIED')
    assertError(await api.post(`registry/tags/${repo}`, { name: 'v1.0', digest: other.digest }), immutable)
    assertError(await api.delete(`registry/tags/${uid}`), immutable)
    const v1 = (method: string, path: string, body?: object) =>
      fetch(`${cast().berth.url}/registry/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${api.token}` },
        ...(body && { body: JSON.stringify(body) }),
      })
    assert.equal((await v1('PUT', `tags/${uid}`, { name: 'v1.0', digest: other.digest })).status, 400)
    assert.equal((await v1('PUT', `tags/${uid}`, { name: 'v1.0', digest: '' })).status, 400)
    assert.equal((await v1('POST', `tags/${repo}`, { name: 'v1.0', digest: other.digest })).status, 400)
    assert.equal((await v1('DELETE', `tags/${uid}`)).status, 400)

    assert.equal((await putManifest(owner, name, 'v1.0', image)).status, 201)
    const deprecated = { name: 'v1.0', digest: image.digest, deprecated: true }
    assert.equal((await api.post(`registry/tags/${repo}`, deprecated)).status, 200)
    assert.equal((await tagOf('v1.0')).digest, image.digest)
  })

  test('other tags, exceptions, and tags after a change of the policy remain mutable', async () => {
    const { owner, name, api, image, other, path } = await prepared(releases)
    for (const tag of ['latest', 'v2.0-rc1']) {
      assert.equal((await putManifest(owner, name, tag, image)).status, 201)
      assert.equal((await putManifest(owner, name, tag, other)).status, 201)
      assert.equal((await owner.request('DELETE', `${name}/manifests/${tag}`)).status, 202)
    }
    assert.equal((await api.patch(path, { immutableTags: {} }, 'immutable_tags')).status, 200)
    assert.equal((await putManifest(owner, name, 'v1.0', other)).status, 201)
    assert.equal((await owner.request('DELETE', `${name}/manifests/${other.digest}`)).status, 202)
  })

  test('manifests of an index with such a tag are kept; a repo with nothing else can be deleted with them', async () => {
    const { owner, name, api, image, other, repo, path } = await prepared({ patterns: ['*'] })
    const index = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [other.descriptor],
    })
    const nested = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [index.descriptor],
    })
    assert.equal((await putManifest(owner, name, index.digest, index)).status, 201)
    assert.equal((await putManifest(owner, name, 'all', nested)).status, 201)
    assertOciError(await owner.request('DELETE', `${name}/manifests/${other.digest}`), 403, 'DENIED')
    assertOciError(await owner.request('DELETE', `${name}/manifests/${index.digest}`), 403, 'DENIED')
    await api.patch(path, { immutableTags: { patterns: ['v*'] } })
    assertError(await api.delete(`registry/repos/${repo}`), failedPreconditionError('RESOURCE_NOT_EMPTY'))
    await api.patch(path, { immutableTags: { patterns: ['*'] } })
    assert.equal((await owner.request('HEAD', `${name}/manifests/${image.digest}`)).status, 200)
    assert.equal((await api.delete(`registry/repos/${repo}`)).status, 200)
    assertError(await api.get(path), notFoundError('registry.chainguard.dev/Repo', repo))
  })

  test('nested indexes with very many paths to a manifest are visited once each', async () => {
    const { owner, name, other, repo } = await prepared(releases)
    const { kysely } = cast().berth.berth.installation.store.db
    const [root = ''] = repo.split('/')
    // Any 50 of a layer that follow each other are needed by all 200 of the next.
    const at = (layer: number, n: number) =>
      layer === 0 ? other.digest : `layer ${layer} ${String(n).padStart(3, '0')}`
    for (let layer = 1; layer <= 10; layer++) {
      const rows = Array.from({ length: 800 }, (_, n) => {
        const manifest = at(layer, 4 * (Math.floor(n / 4) % 50) + (n % 4))
        return { root, repo, digest: at(layer - 1, Math.floor(n / 4)), manifest, kind: 'manifest' as const }
      })
      await kysely
        .insertInto('manifest_references')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
    assert.equal((await owner.request('DELETE', `${name}/manifests/${other.digest}`)).status, 202)
    await pushImage(owner, name, other)
    await kysely
      .updateTable('tags')
      .set({ digest: at(10, 7) })
      .where('parent', '=', repo)
      .where('name', '=', 'v1.0')
      .execute()
    const refused = await owner.request('DELETE', `${name}/manifests/${other.digest}`)
    assert.match(refused.json.errors[0].message, /tag v1\.0 of repo .* is immutable/)
  })

  test('policies are authorized like other resources', async () => {
    const { api, repo, path, organization, member } = await prepared(releases)
    const fresh = await api.post(`registry/repos/${organization.uid}`, { name: 'fresh' })
    assert.deepEqual((await api.get(`registry/repos/${fresh.body.uid}/policy`)).body.immutableTags, undefined)
    const read = await api.get(path)
    assert.deepEqual(read.body.immutableTags, releases)
    const etag = read.headers.get('etag') ?? ''
    const change = (body: object) =>
      call('PATCH', `${cast().berth.url}/${path.replace('/', '/v2beta1/')}`, {
        token: api.token,
        body,
        headers: { 'if-match': etag },
      })
    assert.equal((await change({ immutableTags: { patterns: ['*'] } })).status, 200)
    assert.equal((await change({ immutableTags: {} })).status, 412)
    for (const [policy, field] of [
      [{ immutableTags: { patterns: ['a b'] } }, 'immutableTags.patterns[0]'],
      [
        { immutableTags: { exceptions: Array(limits.tagPatternsMax + 1).fill('*') } },
        'immutableTags.exceptions',
      ],
      [{ retention: { rules: [{}] } }, 'retention.rules[0]'],
      [{ retention: { rules: Array(limits.retentionRulesMax + 1).fill({ newest: 1 }) } }, 'retention.rules'],
      [
        {
          retention: {
            rules: Array(limits.retentionPatternsMax / 50 + 1).fill({ patterns: Array(50).fill('a') }),
          },
        },
        'retention.rules',
      ],
      [{ retention: { rules: [{ newest: limits.retentionNewestMax + 1 }] } }, 'retention.rules[0].newest'],
      [{ retention: { rules: [{ youngerThan: '1s' }] } }, 'retention.rules[0].youngerThan'],
      [
        { retention: { untaggedAfter: `${limits.retentionAgeMsMax / 1000 + 1}s` } },
        'retention.untaggedAfter',
      ],
    ] as const)
      assertError(await api.patch(path, policy), invalidFieldError(field))
    const viewer = await member('viewer')
    assert.equal((await viewer.api.get(path)).status, 200)
    assertError(await viewer.api.patch(path, { immutableTags: {} }), permissionDeniedError)
    const stranger = await createRegistryFixture(cast())
    assertError(await stranger.organization.owner.api.get(path), permissionDeniedError)
    assert.equal((await api.get(`registry/repos/${repo}`)).status, 200)
  })
})
