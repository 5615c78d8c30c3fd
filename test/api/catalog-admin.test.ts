import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  type Api,
  type ApiFixture,
  assertError,
  managedRole,
  newName,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { v1ClientOf } from '../support/api/v1-client.ts'
import { basicAuth, requestAt } from '../support/registry/registry.ts'

/** Who may change what a catalogue shows of repos: the operator, `catalog.admin`, and owners if the operator wants it. */

const fields = {
  catalogTier: 'CATALOG_TIER_APPLICATION',
  bundles: ['application'],
  aliases: ['nginx:latest'],
}
const charts = [{ repo: 'oci://charts.example.com/nginx' }]

async function newRepo(cast: ApiFixture) {
  const organization = await cast.organization()
  const { uid: repo } = await organization.owner.api.create(`registry/repos/${organization.uid}`, {
    name: newName('repo'),
  })
  return { organization, repo: repo as string }
}

/** The status of each change of a catalogue. */
async function changeCatalog(cast: ApiFixture, api: Api, repo: string): Promise<Record<string, number>> {
  const deployment = `registry/repos/${repo}/deployment`
  const v1 = v1ClientOf(cast, api)
  return {
    fields: (await api.patch(`registry/repos/${repo}`, { ...fields, activeTags: [newName('tag')] })).status,
    readme: (await api.patch(`registry/repos/${repo}/readme`, { content: '# nginx' })).status,
    deployment: (await v1.post(deployment, { charts })).status,
    otherDeployment: (await v1.put(deployment, { charts })).status,
  }
}

const all = { fields: 200, readme: 200, deployment: 200, otherDeployment: 200 }
const none = { fields: 403, readme: 403, deployment: 403, otherDeployment: 403 }

onEveryDatabase('catalog.admin', (cast) => {
  test('it changes all that a catalogue shows of a repo, and pulls nothing; owners alone change nothing', async () => {
    const { organization, repo } = await newRepo(cast())
    assert.deepEqual(await changeCatalog(cast(), organization.owner.api, repo), none)
    const { uid, api } = await organization.member('catalog.admin')
    assert.deepEqual(await changeCatalog(cast(), api, repo), all)
    const { body } = await api.get(`registry/repos/${repo}`)
    for (const [field, value] of Object.entries(fields)) assert.deepEqual(body[field], value, field)
    const { berth } = cast()
    const { json } = await requestAt(
      `${berth.url}/token?scope=repository:${organization.uid}/${body.name}:pull,push,delete`,
      'GET',
      {},
      basicAuth('_token', await berth.tokenOf(uid)),
    )
    // Its tags may be listed, its images not be read.
    assert.equal(json.scope, `repository:${organization.uid}/${body.name}:pull`)
    const manifest = await requestAt(
      `${berth.url}/v2/${organization.uid}/${body.name}/manifests/latest`,
      'GET',
      {},
      `Bearer ${json.token}`,
    )
    assert.equal(manifest.status, 403)
  })

  test('R19: only the operator grants it, and errors name the operator', async () => {
    const { organization, repo } = await newRepo(cast())
    const { owner, uid: root } = organization
    const binding = { identityUid: owner.uid, roleUid: managedRole('catalog.admin') }
    const denied = await owner.api.post(`iam/roleBindings/${root}`, binding)
    assertError(denied, permissionDeniedError)
    assert.match(denied.body.message, /repo\.internal\.admin.*Ask the operator of this server/)
    const invitation = { roleUid: managedRole('catalog.admin'), ttl: '86400s' }
    const invite = await owner.api.post(`iam/groupInvites/${root}`, invitation)
    assertError(invite, permissionDeniedError)
    const role = { name: newName('role'), capabilities: ['CAP_REPO_INTERNAL_ADMIN'] }
    assert.equal((await owner.api.post(`iam/roles/${root}`, role)).body.code, 3)
    const changed = await owner.api.patch(`registry/repos/${repo}`, fields)
    assert.match(changed.body.message, /repo\.internal\.admin.*Ask the operator of this server/)
    assert.equal((await cast().admin.post(`iam/roleBindings/${root}`, binding)).status, 200)
    assert.deepEqual(await changeCatalog(cast(), owner.api, repo), all)
  })
})

onEveryDatabase(
  'BERTH_OWNERS_MANAGE_CATALOG',
  (cast) => {
    test('owners change the catalogue of their groups and below, and can grant catalog.admin; others cannot', async () => {
      const { organization, repo } = await newRepo(cast())
      const { owner, uid: root } = organization
      assert.deepEqual(await changeCatalog(cast(), owner.api, repo), all)
      for (const role of ['editor', 'registry.push', 'limited_owner']) {
        const { api } = await organization.member(role)
        assert.deepEqual(await changeCatalog(cast(), api, repo), none, role)
      }
      const stranger = (await cast().organization()).owner.api
      assert.deepEqual(await changeCatalog(cast(), stranger, repo), none)
      const { uid: folder } = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
      const ownerOfFolder = (await organization.member('owner', folder)).api
      assert.deepEqual(await changeCatalog(cast(), ownerOfFolder, repo), none)
      const { uid: inFolder } = await owner.api.create(`registry/repos/${folder}`, { name: newName('repo') })
      assert.deepEqual(await changeCatalog(cast(), ownerOfFolder, inFolder), all)
      const binding = { identityUid: owner.uid, roleUid: managedRole('catalog.admin') }
      assert.equal((await ownerOfFolder.post(`iam/roleBindings/${folder}`, binding)).status, 200)
      assertError(await ownerOfFolder.post(`iam/roleBindings/${root}`, binding), permissionDeniedError)
    })

    test('a narrowed token has the catalogue only if it names it', async () => {
      const { organization, repo } = await newRepo(cast())
      const { berth } = cast()
      const patch = async (options: object) => {
        const token = await berth.tokenOf(organization.owner.uid, options)
        return fetch(`${berth.url}/registry/v2beta1/repos/${repo}`, {
          method: 'PATCH',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ activeTags: [newName('tag')] }),
        }).then(({ status }) => status)
      }
      const named = (...capabilities: Capability[]) => ({ capabilities: capabilitySetOf(capabilities) })
      const { CAP_REPO_UPDATE, CAP_REPO_INTERNAL_ADMIN } = Capability
      assert.equal(await patch({ scopes: [organization.uid] }), 200)
      assert.equal(await patch(named(CAP_REPO_UPDATE, CAP_REPO_INTERNAL_ADMIN)), 200)
      assert.equal(await patch(named(CAP_REPO_UPDATE)), 403)
    })
  },
  { env: { BERTH_OWNERS_MANAGE_CATALOG: 'true' } },
)
