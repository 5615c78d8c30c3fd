import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import { formatWarning } from '@berth/server/pipeline/warnings.ts'
import { withWarnings } from '@berth/server/registry/oci/warnings.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import {
  createRegistryFixture,
  type OciReply,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
} from '../support/registry/registry.ts'

const KIB = 1024

test('a warning is 299, no agent, and quoted text, limited in length and number', () => {
  assert.equal(formatWarning('all is well'), '299 - "all is well"')
  assert.equal(formatWarning('a "b"\\\r\nwarning: 299'), `299 - "a 'b''??warning: 299"`)
  assert.equal(formatWarning('x'.repeat(1000)).length, limits.warningCharsMax + '299 - ""'.length)
  assert.equal(withWarnings(Array(20).fill('x')).warnings?.length, limits.warningsMax)
  // The specification: all together have at most 4096 bytes.
  assert.ok(limits.warningsMax * (limits.warningCharsMax + 8) <= 4096)
})

onEveryDatabase('registry: warnings', (cast) => {
  const warningsOf = ({ headers }: OciReply) => headers.get('warning')

  test('a pull of a deprecated tag has a warning', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const { api } = organization.owner
    const image = await pushImage(owner, name, testImage(), 'v1')
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
    assert.equal(warningsOf(await owner.request('GET', `${name}/manifests/v1`)), null)
    await api.create(`registry/tags/${repo}`, { name: 'v1', digest: image.digest, deprecated: true })
    for (const method of ['GET', 'HEAD'])
      assert.equal(
        warningsOf(await owner.request(method, `${name}/manifests/v1`)),
        '299 - "tag v1 is deprecated"',
      )
    assert.equal(warningsOf(await owner.request('GET', `${name}/manifests/${image.digest}`)), null)
  })

  test('a push warns that a quota is nearly reached, and that retention may delete the tag', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const { api } = organization.owner
    const image = await pushImage(owner, name, testImage(), 'v1')
    await pushBlob(owner, name, Buffer.alloc(950 * KIB))
    const { installation } = cast().berth.berth
    await organizationSettings(installation, root, { limits: new Map([['storage_mib', 1]]) })
    const full = await putManifest(owner, name, 'v1', image)
    assert.equal(full.status, 201)
    assert.equal(warningsOf(full), '299 - "the organization stores 1 of at most 1 MiB (storage_mib)"')
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
    const rules = [
      { newest: 10, youngerThan: '86400s' },
      { patterns: ['v*'], newest: 3 },
      { patterns: ['latest'] },
    ]
    await api.patch(`registry/repos/${repo}/policy`, { retention: { enabled: true, rules } })
    assert.equal(warningsOf(await putManifest(owner, name, 'latest', image)), warningsOf(full))
    assert.equal(
      warningsOf(await putManifest(owner, name, 'v1', image)),
      `${warningsOf(full)}, 299 - "retention deletes tag v1 unless it is one of the newest 10 and younger than 1 d, or one of the newest 3"`,
    )
  })
})
