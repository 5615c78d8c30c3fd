import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  type Api,
  type ApiFixture,
  apiOf,
  claimMatch,
  managedRole,
  newName,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { bearerOf, ociClient, pushImage } from '../support/registry/registry.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** Groups at the deepest level: everything works there as it does in an organization. */

const capabilities = ['CAP_IAM_GROUPS_LIST']
const digest = `sha256:${'d'.repeat(64)}`

/** Creates a chain of groups that are all named `a`; returns their uids from the top. */
async function createChain(api: Api, root: string, levels: number): Promise<string[]> {
  const chain = [root]
  while (chain.length <= levels)
    chain.push((await api.create(`iam/groups/${chain.at(-1)}`, { name: 'a' })).uid)
  return chain
}

const lastSegments = (uids: readonly string[]) => uids.map((uid) => uid.slice(-16))

/** Lists a collection page by page; returns the last segments of its uids. */
async function listAll(api: Api, path: string, query: Record<string, string>): Promise<string[]> {
  const uids: string[] = []
  let pageToken = ''
  do {
    const { body, text } = await api.get(path, { ...query, page_size: '2', page_token: pageToken })
    const items = body[path.slice(path.indexOf('/') + 1)]
    assert.ok(Array.isArray(items), text)
    uids.push(...items.map(({ uid }: { uid: string }) => uid))
    pageToken = body.nextPageToken
  } while (pageToken !== '')
  return lastSegments(uids)
}

onEveryDatabase('the deepest groups (groupDepthMax)', (cast) => {
  const deepOrganization = async (fixture: ApiFixture) => {
    const organization = await fixture.organization()
    const chain = await createChain(organization.owner.api, organization.uid, limits.groupDepthMax)
    return { ...organization, chain, deepest: chain.at(-1)! }
  }

  test('are at least 100 levels below their organization; beyond, the error names the limit', async () => {
    assert.ok(limits.groupDepthMax >= 100)
    const { owner, chain, deepest } = await deepOrganization(cast())
    for (const parent of [deepest, deepest.slice(-16)]) {
      const refused = await owner.api.post(`iam/groups/${parent}`, { name: 'a' })
      assert.equal(refused.body.code, 3)
      assert.equal(
        refused.body.message,
        `Invalid argument: parent: groups can be nested ${limits.groupDepthMax} levels deep, and this parent is at level ${limits.groupDepthMax}`,
      )
    }
    const above = await owner.api.get('iam/groups', { 'uidp.ancestors_of': deepest, order_by: 'uid' })
    assert.ok(above.body.groups.every(({ uid }: { uid: string }, at: number) => uid === chain[at]))
    assert.equal(above.body.totalCount, String(limits.groupDepthMax))
    const { token } = owner.api
    const got = await cast().grpc.call(GroupsService.method.getGroup, { uid: deepest }, { token })
    assert.equal(got.uid, deepest)
    const old = await call('GET', `${cast().berth.url}/iam/v1/groups?id=${deepest}`, { token })
    assert.equal(old.body.items[0].id, deepest)
  })

  test('hold every kind of resource, which lists, rights and deletions find', async () => {
    const { deepest, uid: root } = await deepOrganization(cast())
    const api = cast().admin
    const created: [path: string, uid: string][] = []
    const create = async (path: string, parent: string, body: object): Promise<string> => {
      const { uid } = await api.create(`${path}/${parent}`, body)
      created.push([`${path}/${uid}`, uid])
      return uid
    }
    for (let at = 0; at < 5; at++) {
      const identityUid = await create('iam/identities', deepest, { name: newName('robot'), claimMatch })
      const roleUid = await create('iam/roles', deepest, { name: newName('role'), capabilities })
      await create('iam/roleBindings', deepest, { identityUid, roleUid })
      const again = await api.post(`iam/roleBindings/${deepest}`, { identityUid, roleUid })
      assert.equal(again.body.code, 6, again.text)
      await create('iam/groupInvites', deepest, { roleUid: managedRole('viewer'), ttl: '3600s' })
      const repo = await create('registry/repos', deepest, { name: newName('repo') })
      for (const name of ['a', 'b', 'c']) await create('registry/tags', repo, { name, digest })
    }
    await create('iam/accountAssociations', deepest, { name: 'clouds', amazon: { account: '123456789012' } })
    const kinds = new Set(created.map(([path]) => path.split('/').slice(0, 2).join('/')))
    for (const kind of kinds) {
      const uids = created.filter(([path]) => path.startsWith(`${kind}/`)).map(([, uid]) => uid)
      const expected = lastSegments(uids).toSorted()
      if (kind === 'registry/tags' || kind === 'iam/accountAssociations') continue
      const list = (query: Record<string, string>) => listAll(api, kind, query)
      assert.deepEqual(await list({ 'uidp.children_of': deepest, order_by: 'uid' }), expected, kind)
      const backwards = await list({ 'uidp.children_of': deepest, order_by: 'uid desc' })
      assert.deepEqual(backwards, expected.toReversed(), kind)
      assert.deepEqual(await list({ 'uidp.descendants_of': deepest, order_by: 'uid' }), expected, kind)
    }
    const everything = await api.get('registry/tags', { 'uidp.descendants_of': root, order_by: 'name' })
    assert.equal(everything.body.totalCount, '15')
    for (const [path] of created.toReversed()) {
      const deleted = await api.delete(path)
      assert.equal(deleted.status, 200, `${path}: ${deleted.text}`)
    }
    assert.equal((await api.delete(`iam/groups/${deepest}`)).status, 200)
  })

  test('give rights: a role bound there, or at the top, applies there, and an invite to it can be accepted', async () => {
    const organization = await deepOrganization(cast())
    const { deepest, chain } = organization
    const editor = await organization.member('editor', deepest)
    assert.equal((await editor.api.get(`iam/groups/${deepest}`)).status, 200)
    assert.equal((await editor.api.get(`iam/groups/${chain.at(-2)}`)).body.code, 7)
    const listed = await editor.api.get('iam/groups')
    assert.equal(listed.body.totalCount, '1')
    const viewer = await organization.member('viewer')
    assert.equal((await viewer.api.get(`iam/groups/${deepest}`)).status, 200)
    const { owner } = organization
    const body = { roleUid: managedRole('viewer'), ttl: '3600s' }
    const invite = await owner.api.create(`iam/groupInvites/${deepest}`, body)
    assert.ok(invite.code.length <= limits.inviteCodeCharsMax)
    const { berth } = cast()
    const person = apiOf(berth, await berth.tokenOf(await createPerson(berth)))
    const accepted = await person.post('iam/groupInvites:accept', { code: invite.code })
    assert.equal(accepted.status, 200, accepted.text)
    assert.equal((await person.get(`iam/groups/${deepest}`)).status, 200)
  })

  test('hold repos that images are pushed to and pulled from by their path', async () => {
    const { owner, name, deepest } = await deepOrganization(cast())
    const path = `${name}/${'a/'.repeat(limits.groupDepthMax)}r`
    assert.ok(path.length <= limits.repoPathCharsMax)
    await owner.api.create(`registry/repos/${deepest}`, { name: 'r' })
    const client = ociClient(cast().berth, await bearerOf(cast().berth, owner.uid))
    const image = await pushImage(client, path, undefined, 'v1')
    const pulled = await client.request('GET', `${path}/manifests/v1`)
    assert.equal(pulled.headers.get('docker-content-digest'), image.digest)
    const unknown = await client.request('GET', `${name}/${'a/'.repeat(50)}none/manifests/v1`)
    assert.equal(unknown.status, 404)
  })

  test('hold advisories with the longest names; a name that is too long there says so', async () => {
    const { deepest } = await deepOrganization(cast())
    const { admin } = cast()
    const { advisoryIndexedNameBytesMax, advisoryAliasBytesMax, advisoryDocumentIdBytesMax } = limits
    const long = (bytes: number) =>
      Array.from({ length: bytes }, () => Math.floor(Math.random() * 36).toString(36)).join('')
    const product = long(advisoryIndexedNameBytesMax)
    const openvex = {
      '@context': 'https://openvex.dev/ns/v0.2.0',
      '@id': long(advisoryDocumentIdBytesMax),
      timestamp: '2024-01-01T00:00:00Z',
      statements: [
        {
          vulnerability: { name: `A${long(advisoryAliasBytesMax - 1)}` },
          products: [{ '@id': product, subcomponents: [{ '@id': product }] }],
          status: 'fixed',
        },
      ],
    }
    const path = `vulnerabilities/advisories/${deepest}`
    const content = Buffer.from(JSON.stringify(openvex)).toString('base64')
    for (const created of [1, 0]) {
      const { body } = await admin.post(`${path}:importDocuments`, {
        documents: [{ name: 'a.json', content }],
      })
      assert.deepEqual([body.documents[0].reason, body.documents[0].created], ['', created])
    }
    const listed = await admin.get('vulnerabilities/advisories', { 'uidp.children_of': deepest })
    assert.equal(listed.body.totalCount, '1')

    const charsMax = limits.uidAndNameCharsMax - deepest.length - 17
    const named = (chars: number) =>
      admin.post(`iam/roles/${deepest}`, { name: 'n'.repeat(chars), capabilities })
    assert.equal((await named(charsMax)).status, 200)
    const refused = await named(charsMax + 1)
    assert.match(
      refused.body.message,
      new RegExp(`name: must have at most ${charsMax} characters at this depth`),
    )
  })
})
