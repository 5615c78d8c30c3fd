import assert from 'node:assert/strict'
import type { ApiFixture } from '../api/api-fixture.ts'
import {
  createRegistryFixture,
  descriptor,
  imageFromManifest,
  pushBlob,
  pushImage,
  putManifest,
  type TestImage,
  testImage,
  types,
} from '../registry/registry.ts'
import { BUNDLE_TYPE, type CosignLayer } from './cosign-signatures.ts'

/** An image in a repo, to which tests attach signatures. */

const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json'
export const VERIFIERS = 'registry/signatureVerifiers'

interface Artifact {
  readonly artifactType: string
  readonly mediaType: string
  readonly content: Uint8Array | string
  readonly annotations?: Readonly<Record<string, string>>
}

/** `folder`: a new folder that the repo is in. */
export async function createSignedImages(cast: ApiFixture, { folder }: { readonly folder?: string } = {}) {
  const registry = await createRegistryFixture(cast)
  const { owner, organization, root } = registry
  const { api } = organization.owner
  const group = folder === undefined ? root : (await api.create(`iam/groups/${root}`, { name: folder })).uid
  const name = folder === undefined ? registry.name : `${organization.uid}/${folder}/app`
  const image = await pushImage(owner, name, testImage(), 'latest')
  const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
  const put = async (tag: string, content: object) => {
    const manifest = imageFromManifest(content as { mediaType: string })
    const reply = await putManifest(owner, name, tag === '' ? manifest.digest : tag, manifest)
    assert.equal(reply.status, 201, reply.bytes.toString())
    return manifest.digest
  }
  const config = async () => {
    const bytes = Buffer.from('{}')
    await pushBlob(owner, name, bytes)
    return descriptor(types.empty, bytes)
  }
  return {
    ...registry,
    name,
    /** uid of the group of the repo. */
    group: group as string,
    api,
    repo: repo as string,
    image,
    put,
    config,
    /** Puts layers of simple signing at the tag of an image, or of `tag`. */
    async cosign(
      layers: readonly CosignLayer[],
      { of = image as TestImage, tag = `${of.digest.replace(':', '-')}.sig` } = {},
    ) {
      for (const { payload } of layers) await pushBlob(owner, name, payload)
      return put(tag, {
        schemaVersion: 2,
        mediaType: types.image,
        config: await config(),
        layers: layers.map(({ payload, annotations }) =>
          descriptor(SIMPLE_SIGNING, payload, { annotations }),
        ),
      })
    },
    async attach({ artifactType, mediaType, content, annotations = {} }: Artifact, of: TestImage = image) {
      const bytes = Buffer.from(content)
      await pushBlob(owner, name, bytes)
      return put('', {
        schemaVersion: 2,
        mediaType: types.image,
        artifactType,
        config: await config(),
        layers: [descriptor(mediaType, bytes)],
        subject: of.descriptor,
        annotations,
      })
    },
    attachBundle(bundle: object, annotations: Readonly<Record<string, string>> = {}) {
      const content = JSON.stringify(bundle)
      return this.attach({ artifactType: BUNDLE_TYPE, mediaType: BUNDLE_TYPE, content, annotations })
    },
    attachNotation(content: Uint8Array | string, mediaType = 'application/jose+json') {
      return this.attach({ artifactType: 'application/vnd.cncf.notary.signature', mediaType, content })
    },
    verifier: (method: object, { group = root as string, name: called = 'release' } = {}) =>
      api.create(`${VERIFIERS}/${group}`, { name: called, ...method }),
    async status(reference: string = image.digest) {
      const reply = await api.get(`registry/repos/${repo}/manifests/${reference}/signatures`)
      assert.equal(reply.status, 200, reply.text)
      return reply.body
    },
  }
}

export type SignedImages = Awaited<ReturnType<typeof createSignedImages>>

/** Reads the state of the image and of its first signature, with the reason. */
export async function firstSignature(images: SignedImages) {
  const { state, signatures } = await images.status()
  const [signature = {}] = signatures
  return {
    state,
    of: signature.state,
    reason: signature.reason ?? '',
    verifications: signature.verifications ?? [],
  }
}
