import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReferrersService } from '@berth/contract/gen/berth/registry/v1/referrers_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'
import { createRegistryFixture, pushImage, type TestImage, testImage } from '../support/registry/registry.ts'

const missing = `sha256:${'0123456789abcdef'.repeat(4)}`

onEveryDatabase('referrers', (cast) => {
  const prepared = async () => {
    const registry = await createRegistryFixture(cast())
    const { owner, name, organization, root } = registry
    const image = await pushImage(owner, name, testImage(), 'latest')
    const { api } = organization.owner
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
    const path = (digest: string) => `registry/repos/${repo}/manifests/${digest}/referrers`
    const about = (subject: TestImage, artifactType: string, more: object = {}) =>
      pushImage(owner, name, testImage({ subject: subject.descriptor, artifactType, ...more }))
    return { ...registry, api, repo, image, path, about }
  }

  test('lists what is attached by tags, then by subject, one level at a time, in pages of any size', async () => {
    const { owner, name, api, repo, image, path, about, organization } = await prepared()
    const annotations = { 'org.opencontainers.image.created': '2025-01-02T03:04:05Z' }
    const sbom = await about(image, 'application/spdx+json', { annotations })
    const signature = await about(image, 'application/x.signature')
    const ofSbom = await about(sbom, 'application/x.signature')
    const prefix = image.digest.replace(':', '-')
    const attached = await pushImage(owner, name, testImage(), `${prefix}.sig`)
    await pushImage(owner, name, testImage(), `${prefix}0.sig`)
    const bySubject = [sbom, signature].sort((a, b) => (a.digest < b.digest ? -1 : 1))
    const expected = [attached, ...bySubject].map(({ digest }) => digest)
    for (const page_size of ['1', '2', '3', '50']) {
      const found: Record<string, unknown>[] = []
      let page_token = ''
      do {
        const { body } = await api.get(path(image.digest), { page_size, page_token })
        found.push(...body.referrers)
        page_token = body.nextPageToken
      } while (page_token !== '')
      assert.deepEqual(
        found.map(({ digest }) => digest),
        expected,
        page_size,
      )
      assert.deepEqual(
        found.map(({ tag }) => tag),
        [`${prefix}.sig`, '', ''],
      )
      const { pushTime, ...listed } = found.find(({ digest }) => digest === sbom.digest) ?? {}
      assert.ok(pushTime)
      assert.deepEqual(listed, {
        digest: sbom.digest,
        mediaType: sbom.mediaType,
        artifactType: 'application/spdx+json',
        size: String(sbom.manifest.length),
        annotations,
        tag: '',
        referrerCount: 1,
      })
    }
    const nested = (await api.get(path(sbom.digest))).body.referrers
    assert.deepEqual(
      nested.map(({ digest }: { digest: string }) => digest),
      [ofSbom.digest],
    )
    const filtered = await api.get(path(image.digest), { artifact_type: 'application/spdx+json' })
    assert.equal(filtered.body.referrers.length, 1)
    assert.deepEqual((await api.get(path(missing))).body, { referrers: [], nextPageToken: '' })
    const { referrers } = await cast().grpc.call(
      ReferrersService.method.listReferrers,
      { uid: repo, digest: image.digest, pageSize: 1 },
      { token: organization.owner.api.token },
    )
    assert.deepEqual(
      referrers.map(({ digest }) => digest),
      [attached.digest],
    )
  })

  test('long annotations are left out (listedAnnotationsBytesMax)', async () => {
    const { api, image, path, about } = await prepared()
    await about(image, 'application/x', { annotations: { a: 'x'.repeat(limits.listedAnnotationsBytesMax) } })
    const [listed] = (await api.get(path(image.digest))).body.referrers
    assert.deepEqual(listed.annotations, {})
  })

  test('invalid requests and missing capabilities are rejected', async () => {
    const { api, image, path, root, organization } = await prepared()
    assertError(await api.get(path('latest')), invalidFieldError('digest'))
    const long = { artifact_type: 'x'.repeat(limits.mediaTypeCharsMax + 1) }
    assertError(await api.get(path(image.digest), long), invalidFieldError('artifactType'))
    assertError(await api.get(path(image.digest), { page_size: '-1' }), invalidFieldError('page_size'))
    assertError(await api.get(path(image.digest), { page_token: 'x' }), invalidFieldError('page_token'))
    const gone = `${root}/0123456789abcdef`
    assertError(
      await api.get(`registry/repos/${gone}/manifests/${missing}/referrers`),
      notFoundError('registry.chainguard.dev/Repo', gone),
    )
    const role = await createRole(cast().berth, root, ['repo.list', 'manifest.list'], 'half')
    const half = await organization.member(role)
    assertError(await half.api.get(path(image.digest)), permissionDeniedError)
  })
})
