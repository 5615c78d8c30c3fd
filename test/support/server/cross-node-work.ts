import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { type Api, apiOf, claimMatch, managedRole, newName } from '../api/api-fixture.ts'
import type { DescriptionOptions } from '../api/openapi.ts'
import { digest, type OciClient, ociClient, type TestImage, testImage, types } from '../registry/registry.ts'

/** Work that two nodes of one installation share: what one starts the other continues, and reads, and deletes. */

export interface NodeTokens {
  readonly api: string
  readonly registry: string
}

/** A node as the owner of an organization sees it. */
export interface NodeClient {
  readonly api: Api
  readonly oci: OciClient
}

/** @param url address of the node itself */
export function nodeClient(url: string, tokens: NodeTokens, options: DescriptionOptions = {}): NodeClient {
  return { api: apiOf({ url }, tokens.api, options), oci: ociClient({ url }, `Bearer ${tokens.registry}`) }
}

export interface CrossNodeWork {
  /** uids that were deleted, with everything below. */
  readonly deleted: readonly string[]
  /** Writes and deletes resources of each kind; each step is the next node's. */
  run(one: NodeClient, other: NodeClient): Promise<void>
  /** Deletes a repo at one node while the other pushes to it; neither fails with a server error. */
  race(one: NodeClient, other: NodeClient): Promise<void>
  /** Reads everything that was acknowledged, and that what was deleted is not found. */
  verify(node: NodeClient): Promise<void>
}

export function createCrossNodeWork(organization: string): CrossNodeWork {
  const groups: string[] = []
  const images: { readonly repo: string; readonly image: TestImage; readonly tag: string }[] = []
  const deleted: string[] = []

  const remove = async ({ api }: NodeClient, kind: string, uid: string) => {
    const reply = await api.delete(`${kind}/${uid}`)
    assert.equal(reply.status, 200, reply.text)
    deleted.push(uid)
  }
  const seen = async ({ api }: NodeClient, kind: string, uid: string) => {
    const reply = await api.get(`${kind}/${uid}`)
    assert.equal(reply.status, 200, reply.text)
    return reply.body
  }

  const inTree = async (one: NodeClient, other: NodeClient) => {
    const kept = await one.api.create(`iam/groups/${organization}`, { name: newName('kept') })
    groups.push(kept.uid)
    assert.equal((await seen(other, 'iam/groups', kept.uid)).name, kept.name)
    const group = (await other.api.create(`iam/groups/${organization}`, { name: newName('gone') })).uid
    const below = (await one.api.create(`iam/groups/${group}`, { name: newName('below') })).uid
    const identity = await other.api.create(`iam/identities/${below}`, { name: newName('robot'), claimMatch })
    const binding = { identityUid: identity.uid, roleUid: managedRole('viewer') }
    const { uid } = await one.api.create(`iam/roleBindings/${below}`, binding)
    assert.equal((await seen(other, 'iam/roleBindings', uid)).identityUid, identity.uid)
    const invite = { roleUid: managedRole('viewer'), ttl: '600s' }
    const invited = (await other.api.create(`iam/groupInvites/${below}`, invite)).uid
    await seen(one, 'iam/identities', identity.uid)
    await remove(one, 'iam/groupInvites', invited)
    await remove(other, 'iam/roleBindings', uid)
    await remove(one, 'iam/identities', identity.uid)
    await remove(other, 'iam/groups', below)
    await remove(one, 'iam/groups', group)
  }

  /** Each request is for the next node. */
  const push = async (nodes: readonly [NodeClient, NodeClient], repo: string, tag: string) => {
    let turn = 0
    const image = testImage({}, { layerBytes: randomInt(1000, 200_000) })
    const ask = async (...[method, path, request]: Parameters<OciClient['request']>) => {
      const reply = await (nodes[turn++ % 2] as NodeClient).oci.request(method, path, request)
      assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.bytes}`)
      return reply
    }
    const next = ({ headers }: { readonly headers: Headers }) =>
      new URL(headers.get('location') ?? '', 'http://berth.test').pathname.replace('/v2/', '')
    for (const blob of image.blobs) {
      const half = Math.ceil(blob.length / 2)
      let at = next(await ask('POST', `${repo}/blobs/uploads/`))
      at = next(await ask('PATCH', at, chunk(blob, 0, half)))
      assert.equal((await ask('GET', at)).headers.get('range'), `0-${half - 1}`)
      at = next(await ask('PATCH', at, chunk(blob, half, blob.length)))
      await ask('PUT', `${at}?digest=${digest(blob)}`)
    }
    const manifest = { body: image.manifest, headers: { 'content-type': types.image } }
    await ask('PUT', `${repo}/manifests/${tag}`, manifest)
    return image
  }

  const readImage = async ({ oci }: NodeClient, { repo, image, tag }: (typeof images)[number]) => {
    const manifest = await oci.request('GET', `${repo}/manifests/${tag}`)
    assert.deepEqual([manifest.status, digest(manifest.bytes)], [200, image.digest], `${repo}:${tag}`)
    for (const blob of image.blobs) {
      const reply = await oci.request('GET', `${repo}/blobs/${digest(blob)}`)
      assert.deepEqual([reply.status, digest(reply.bytes)], [200, digest(blob)])
    }
  }

  const repoCalled = async ({ api }: NodeClient, name: string): Promise<string> => {
    const { body } = await api.get('registry/repos', { 'uidp.children_of': organization, name })
    assert.equal(body.repos.length, 1, name)
    return body.repos[0].uid
  }

  const inRegistry = async (one: NodeClient, other: NodeClient) => {
    const [kept, gone] = [newName('kept'), newName('gone')]
    for (const name of [kept, gone]) {
      const repo = `${organization}/${name}`
      const first = { repo, tag: 'v1', image: await push([one, other], repo, 'v1') }
      const second = await push([other, one], repo, 'v2')
      for (const node of [one, other]) await readImage(node, { repo, tag: 'v2', image: second })
      const uid = await repoCalled(other, name)
      const policy = { immutableTags: { patterns: ['release-*'] } }
      const set = await one.api.patch(`registry/repos/${uid}/policy`, policy, 'immutable_tags')
      assert.equal(set.status, 200, set.text)
      const readme = await other.api.patch(`registry/repos/${uid}/readme`, { content: '# Tools' })
      assert.equal(readme.status, 200, readme.text)
      const tagged = await one.api.create(`registry/tags/${uid}`, { name: 'latest', digest: second.digest })
      await remove(other, 'registry/tags', tagged.uid)
      assert.equal((await one.oci.request('DELETE', `${repo}/manifests/${second.digest}`)).status, 202)
      assert.equal((await other.oci.request('GET', `${repo}/manifests/v2`)).status, 404)
      if (name === kept) images.push(first)
    }
    assert.equal((await other.oci.request('DELETE', `${organization}/${gone}/manifests/v1`)).status, 202)
    // An upload that ends with its repo.
    assert.equal((await one.oci.request('POST', `${organization}/${gone}/blobs/uploads/`)).status, 202)
    await remove(other, 'registry/repos', await repoCalled(one, gone))
  }

  return {
    deleted,
    async run(one, other) {
      await inTree(one, other)
      await inRegistry(one, other)
    },
    async race(one, other) {
      const name = newName('race')
      const repo = `${organization}/${name}`
      const reached: number[] = []
      const pushes = async (node: NodeClient) => {
        for (let times = 0; times < 5; times++) {
          const image = testImage()
          for (const blob of image.blobs) {
            const path = `${repo}/blobs/uploads/?digest=${digest(blob)}`
            reached.push((await node.oci.request('POST', path, { body: blob })).status)
          }
          const body = { body: image.manifest, headers: { 'content-type': types.image } }
          reached.push((await node.oci.request('PUT', `${repo}/manifests/${image.digest}`, body)).status)
        }
      }
      const removals = async (node: NodeClient) => {
        for (let times = 0; times < 5; times++) {
          const { body } = await node.api.get('registry/repos', { 'uidp.children_of': organization, name })
          for (const { uid } of body.repos) {
            deleted.push(uid)
            reached.push((await node.api.delete(`registry/repos/${uid}`)).status)
          }
        }
      }
      await Promise.all([pushes(one), removals(other), pushes(other), removals(one)])
      for (const { uid } of (await one.api.get('registry/repos', { 'uidp.children_of': organization, name }))
        .body.repos)
        await remove(other, 'registry/repos', uid)
      assert.deepEqual(
        reached.filter((status) => status >= 500),
        [],
      )
    },
    async verify(node) {
      for (const uid of groups) await seen(node, 'iam/groups', uid)
      for (const one of images) await readImage(node, one)
      for (const [kind, plural] of [
        ['groups', 'iam/groups'],
        ['repos', 'registry/repos'],
      ] as const) {
        const { body } = await node.api.get(plural, { 'uidp.descendants_of': organization, pageSize: '200' })
        const uids: string[] = body[kind].map(({ uid }: { uid: string }) => uid)
        assert.deepEqual(
          uids.filter((uid) => deleted.includes(uid)),
          [],
        )
      }
    },
  }
}

function chunk(bytes: Buffer, from: number, to: number) {
  return { body: bytes.subarray(from, to), headers: { 'content-range': `${from}-${to - 1}` } }
}
