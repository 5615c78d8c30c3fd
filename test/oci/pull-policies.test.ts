import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANONYMOUS_IDENTITY } from '@berth/server/iam/identities/anonymous-uid.ts'
import { managedRole, onEveryDatabase } from '../support/api/api-fixture.ts'
import { policiesOf, systemPolicyUid } from '../support/api/policies.ts'
import { call } from '../support/api/rest.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertOciError,
  createRegistryFixture,
  descriptor,
  imageFromManifest,
  ociClient,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
  types,
} from '../support/registry/registry.ts'

onEveryDatabase('registry: policies at pull', (cast) => {
  const prepared = async (tag = 'v1.0') => {
    const registry = await createRegistryFixture(cast())
    const { owner, name, organization, root } = registry
    const image = await pushImage(owner, name, testImage(), tag)
    const { api } = organization.owner
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
    const policies = policiesOf(cast().berth, api.token)
    const pull = (reference: string, method = 'GET') =>
      owner.request(method, `${name}/manifests/${reference}`)
    return { ...registry, api, image, repo, policies, pull }
  }
  const releases = { patterns: ['v*'] }

  test('nothing is bound by default; a bound policy denies by tag and by digest, with GET and HEAD', async () => {
    const { name, root, repo, owner, image, policies, pull } = await prepared()
    const other = await pushImage(owner, name, testImage(), 'nightly')
    assert.equal((await pull('nightly')).status, 200)
    assert.deepEqual(await policies.decisions({ 'uidp.descendants_of': root }), [])

    await policies.bind(root, 'tag-pattern', releases)
    const denied = await pull('nightly')
    assertOciError(denied, 403, 'DENIED')
    const [{ message, detail }] = denied.json.errors
    assert.match(message, /policy tag-pattern denies this image: the tag nightly does not match v\*/)
    assert.ok(
      message.includes(
        `berth policies overrides create ${name} --policy tag-pattern --digest ${other.digest} --reason`,
      ),
      message,
    )
    assert.deepEqual(
      [detail.policy, detail.policyName, detail.digest],
      [systemPolicyUid('tag-pattern'), 'tag-pattern', other.digest],
    )
    assertOciError(await pull(other.digest), 403, 'DENIED')
    assert.equal((await pull(other.digest, 'HEAD')).status, 403)
    assert.equal((await pull('nightly', 'HEAD')).status, 403)
    assert.equal((await pull('v1.0')).status, 200)
    assert.equal((await pull(image.digest)).status, 200)
    assert.equal((await pull('missing')).status, 404)

    const decisions = await policies.decisions({ 'uidp.descendants_of': repo })
    assert.deepEqual(
      decisions
        .map(({ digest, result, mode, policyName }: Record<string, string>) => [
          digest,
          result,
          mode,
          policyName,
        ])
        .sort(),
      [
        [image.digest, 'RESULT_ALLOWED', 'POLICY_MODE_ENFORCED', 'tag-pattern'],
        [other.digest, 'RESULT_DENIED', 'POLICY_MODE_ENFORCED', 'tag-pattern'],
      ].sort(),
    )
  })

  test('a binding counts below its group or repo, and ends with its deletion', async () => {
    const { name, root, api, owner, repo, policies, pull, organization } = await prepared('nightly')
    const { uid: folder } = await api.create(`iam/groups/${root}`, { name: 'team' })
    const inFolder = `${organization.uid}/team/app`
    await pushImage(owner, inFolder, testImage(), 'nightly')
    const pullInFolder = () => owner.request('GET', `${inFolder}/manifests/nightly`)
    const { id } = await policies.bind(folder, 'tag-pattern', releases)
    assert.equal((await pull('nightly')).status, 200)
    assertOciError(await pullInFolder(), 403, 'DENIED')
    const ofRepo = await policies.bind(repo, systemPolicyUid('tag-pattern'), releases)
    assertOciError(await pull('nightly'), 403, 'DENIED')
    assert.equal((await policies.request('DELETE', `bindings/${id}`)).status, 200)
    assert.equal((await pullInFolder()).status, 200)
    assertOciError(await pull('nightly'), 403, 'DENIED')
    assert.equal((await policies.request('DELETE', `bindings/${ofRepo.id}`)).status, 200)
    assert.equal((await pull('nightly')).status, 200, name)
  })

  test('a dry run lets the pull pass with a warning and a decision', async () => {
    const { root, policies, pull } = await prepared('nightly')
    const binding = await policies.bind(root, 'tag-pattern', releases, 'POLICY_MODE_DRY_RUN')
    for (let at = 0; at < 2; at++) {
      const reply = await pull('nightly')
      assert.equal(reply.status, 200)
      assert.match(reply.headers.get('warning') ?? '', /policy tag-pattern \(dry run\) would deny this image/)
    }
    const [decision, ...more] = await policies.decisions({ 'uidp.descendants_of': root })
    assert.deepEqual(more, [])
    assert.deepEqual([decision.mode, decision.result], ['POLICY_MODE_DRY_RUN', 'RESULT_DENIED'])
    const enforced = { ...binding, mode: 'POLICY_MODE_ENFORCED' }
    const updated = await policies.request('PUT', `bindings/${binding.id}`, enforced)
    assert.equal(updated.status, 200, updated.text)
    assertOciError(await pull('nightly'), 403, 'DENIED')
  })

  test('an override lets a digest pass, with its reason in the decision, until it is deleted', async () => {
    const { root, repo, image, policies, pull, organization } = await prepared('nightly')
    await policies.bind(root, 'tag-pattern', releases)
    assertOciError(await pull('nightly'), 403, 'DENIED')
    const override = await policies.override(repo, 'tag-pattern', image.digest, 'until Friday')
    assert.equal(override.createdBy, organization.owner.uid)
    assert.equal((await pull('nightly')).status, 200)
    const allowed = await policies.decisions({ result: 'RESULT_ALLOWED', digest: image.digest })
    assert.match(allowed[0].reason, /until Friday/)
    assert.equal((await policies.request('DELETE', `overrides/${override.id}`)).status, 200)
    assertOciError(await pull('nightly'), 403, 'DENIED')
  })

  test('an index is evaluated by facts that it has, and its images by those in which they differ', async () => {
    const { root, owner, name, image, policies, pull } = await prepared('untagged')
    const index = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [image.descriptor],
    })
    assert.equal((await putManifest(owner, name, 'v2.0', index)).status, 201)
    const tags = await policies.bind(root, 'tag-pattern', releases)
    // The image has the tags of the index that contains it.
    assert.equal((await pull('v2.0')).status, 200)
    assert.equal((await pull(image.digest)).status, 200)
    await policies.request('DELETE', `bindings/${tags.id}`)

    const { id: old } = await policies.bind(root, 'base-image', { allowed: ['*debian*'] })
    assert.equal((await pull('v2.0')).status, 200)
    const denied = await pull(image.digest)
    assertOciError(denied, 403, 'DENIED')
    assert.match(denied.json.errors[0].message, /it does not name its base image/)
    // An override of the index covers its images.
    await policies.override(root, 'base-image', index.digest)
    assert.equal((await pull(image.digest)).status, 200)
    await policies.request('DELETE', `bindings/${old}`)
  })

  test('signatures, SBOMs and the index of referrers pass: verification needs them', async () => {
    const { root, owner, name, image, policies, pull } = await prepared()
    const hex = image.digest.slice('sha256:'.length)
    const blob = Buffer.from('{}')
    await pushBlob(owner, name, blob)
    const artifact = (more: object) =>
      imageFromManifest({ schemaVersion: 2, mediaType: types.image, ...more })
    const cosign = artifact({
      config: descriptor(types.config, blob),
      layers: [descriptor('application/vnd.dev.cosign.simplesigning.v1+json', blob)],
    })
    const sbom = artifact({
      artifactType: 'application/spdx+json',
      config: descriptor('application/vnd.oci.empty.v1+json', blob),
      layers: [descriptor('application/spdx+json', blob)],
      subject: image.descriptor,
    })
    const pretender = artifact({
      artifactType: 'application/spdx+json',
      config: descriptor('application/vnd.oci.empty.v1+json', blob),
      layers: [descriptor(types.layer, blob)],
      subject: image.descriptor,
    })
    const referrers = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [sbom.descriptor],
    })
    assert.equal((await putManifest(owner, name, `sha256-${hex}.sig`, cosign)).status, 201)
    for (const one of [sbom, pretender])
      assert.equal((await putManifest(owner, name, one.digest, one)).status, 201)
    assert.equal((await putManifest(owner, name, `sha256-${hex}`, referrers)).status, 201)
    await policies.bind(root, 'signed-by', { identities: ['*@example.com'], allow_unknown: false })
    for (const reference of [`sha256-${hex}.sig`, sbom.digest, `sha256-${hex}`])
      assert.equal((await pull(reference)).status, 200, reference)
    for (const reference of ['v1.0', pretender.digest])
      assertOciError(await pull(reference), 403, 'DENIED', reference)
  })

  test('an image whose facts are not known is denied, unless the binding allows it', async () => {
    const { root, policies, pull } = await prepared()
    const binding = await policies.bind(root, 'highest-severity', { severity: 'high' })
    const denied = await pull('v1.0')
    assertOciError(denied, 403, 'DENIED')
    assert.match(denied.json.errors[0].message, /could not evaluate this image: vulnerabilities is not known/)
    const lenient = { ...binding, parameters: { allow_unknown: true } }
    assert.equal((await policies.request('PUT', `bindings/${binding.id}`, lenient)).status, 200)
    assert.equal((await pull('v1.0')).status, 200)
    const results = (await policies.decisions({ 'uidp.descendants_of': root })).map(
      ({ result }: Record<string, string>) => result,
    )
    assert.deepEqual(results, ['RESULT_ERROR'])
  })

  test('an expression evaluates stored facts, with its parameters; a change counts for the next pull', async () => {
    const { root, owner, name, policies, pull } = await prepared()
    const config = Buffer.from(
      JSON.stringify({
        os: 'linux',
        architecture: 'arm64',
        created: new Date(Date.now() - 3 * 24 * 60 * 60 * 1000).toISOString(),
        config: { Labels: { tier: 'gold' } },
      }),
    )
    const layer = Buffer.from('layer')
    for (const blob of [config, layer]) await pushBlob(owner, name, blob)
    const image = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.image,
      config: descriptor(types.config, config),
      layers: [descriptor(types.layer, layer)],
      annotations: { 'org.opencontainers.image.base.name': 'docker.io/library/debian:12' },
    })
    assert.equal((await putManifest(owner, name, 'gold', image)).status, 201)
    const expression = `// param tier: string
image.labels["tier"] == params.tier && image.platform == "linux/arm64" && now - image.created < duration("96h")
  && image.base_name.startsWith("docker.io/library/") && image.tags.exists(t, t == "gold") && image.repository == "${name.split('/')[1]}"`
    const policy = await policies.createPolicy(root, { name: 'gold', expression })
    assert.deepEqual(
      policy.parameterSchemas.map(({ name: parameter }: { name: string }) => parameter),
      ['tier', 'allow_unknown'],
    )
    const binding = await policies.bind(root, policy.id, { tier: 'gold' })
    assert.equal((await pull('gold')).status, 200)
    assertOciError(await pull('v1.0'), 403, 'DENIED')
    const silver = { ...binding, parameters: { tier: 'silver' } }
    assert.equal((await policies.request('PUT', `bindings/${binding.id}`, silver)).status, 200)
    const denied = await pull('gold')
    assert.match(denied.json.errors[0].message, /policy gold denies this image: its expression is false/)
    const changed = { ...policy, expression: '// param tier: string\nparams.tier == "silver"' }
    assert.equal((await policies.request('PUT', `policies/${policy.id}`, changed)).status, 200)
    assert.equal((await pull('gold')).status, 200)

    const old = await policies.bind(root, 'maximum-age', { days: 2 })
    assertOciError(await pull('gold'), 403, 'DENIED')
    await policies.request('DELETE', `bindings/${old.id}`)
    await policies.bind(root, 'maximum-age', { days: 2, since: 'pushed' })
    assert.equal((await pull('gold')).status, 200)
    await policies.bind(root, 'base-image', { allowed: ['docker.io/library/debian:*'] })
    assert.equal((await pull('gold')).status, 200)
  })

  test('public pulls are evaluated; the denial of a known caller is in the audit log', async () => {
    const { root, repo, api, name, policies, pull } = await prepared('nightly')
    await api.create(`iam/roleBindings/${root}`, {
      identityUid: ANONYMOUS_IDENTITY,
      roleUid: managedRole('registry.pull'),
    })
    const client = ociClient(cast().berth)
    assert.equal((await client.request('GET', `${name}/manifests/nightly`)).status, 200)
    await policies.bind(root, 'tag-pattern', releases)
    assertOciError(await client.request('GET', `${name}/manifests/nightly`), 403, 'DENIED')
    assertOciError(await pull('nightly'), 403, 'DENIED')
    await eventually(async () =>
      (
        await call('GET', `${cast().berth.url}/audit/v1/events?resourceUid=${encodeURIComponent(repo)}`, {
          token: api.token,
        })
      ).body.events.some(({ reason }: { reason: string }) => /policy tag-pattern denies/.test(reason)),
    )
  })
})
