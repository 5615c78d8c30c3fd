import { randomBytes } from 'node:crypto'
import {
  digest,
  type OciClient,
  type OciRequest,
  pushBlob,
  pushImage,
  type TestImage,
  testImage,
} from './registry.ts'

/** Every method of the distribution protocol, as requests about a repo that has something of everything. */

/** Requests of every kind about a repo that has an image with a tag, a loose blob and an upload of the caller's. */
export interface PreparedRepo {
  readonly name: string
  readonly image: TestImage
  readonly untaggedBlob: string
  readonly upload: string
  /** Another one. */
  readonly cancelled: string
}

type Request = readonly [method: string, path: string, request?: OciRequest]

export const operations: Readonly<Record<string, (about: PreparedRepo) => Request>> = {
  'GET manifest by tag': ({ name }) => ['GET', `${name}/manifests/v1`],
  'HEAD manifest by tag': ({ name }) => ['HEAD', `${name}/manifests/v1`],
  'GET manifest by digest': ({ name, image }) => ['GET', `${name}/manifests/${image.digest}`],
  'GET blob': ({ name, untaggedBlob: loose }) => ['GET', `${name}/blobs/${loose}`],
  'HEAD blob': ({ name, untaggedBlob: loose }) => ['HEAD', `${name}/blobs/${loose}`],
  'GET tags': ({ name }) => ['GET', `${name}/tags/list`],
  'GET referrers': ({ name, image }) => ['GET', `${name}/referrers/${image.digest}`],
  'POST upload': ({ name }) => ['POST', `${name}/blobs/uploads/`],
  'POST blob': ({ name }) => ['POST', `${name}/blobs/uploads/?digest=${digest('new')}`, { body: 'new' }],
  'POST mount': ({ name, untaggedBlob: loose }) => [
    'POST',
    `${name}/blobs/uploads/?mount=${loose}&from=${name}`,
  ],
  'GET upload': ({ upload }) => ['GET', upload],
  'PATCH upload': ({ upload }) => ['PATCH', upload, { body: 'more' }],
  'PUT upload': ({ upload }) => ['PUT', `${upload}?digest=${digest('more')}`],
  'DELETE upload': ({ cancelled }) => ['DELETE', cancelled],
  'PUT manifest by digest': ({ name, image }) => [
    'PUT',
    `${name}/manifests/${image.digest}`,
    manifestOf(image),
  ],
  'PUT manifest by new tag': ({ name, image }) => ['PUT', `${name}/manifests/v2`, manifestOf(image)],
  'PUT manifest over a tag': ({ name, image }) => ['PUT', `${name}/manifests/old`, manifestOf(image)],
  'DELETE tag': ({ name }) => ['DELETE', `${name}/manifests/v1`],
  'DELETE blob': ({ name, untaggedBlob: loose }) => ['DELETE', `${name}/blobs/${loose}`],
  'DELETE manifest': ({ name, image }) => ['DELETE', `${name}/manifests/${image.digest}`],
}

export const readOperations = [
  'GET manifest by tag',
  'HEAD manifest by tag',
  'GET manifest by digest',
  'GET tags',
  'GET referrers',
]
export const pullOperations = [...readOperations, 'GET blob', 'HEAD blob']
export const allOperations = Object.keys(operations)

function manifestOf({ manifest, mediaType }: TestImage): OciRequest {
  return { body: manifest, headers: { 'content-type': mediaType } }
}

export async function prepareRepo(owner: OciClient, name: string, own = owner): Promise<PreparedRepo> {
  const image = await pushImage(owner, name, testImage(), 'v1')
  await pushImage(owner, name, testImage(), 'old')
  const loose = await pushBlob(owner, name, randomBytes(50))
  const begin = async () => {
    const begun = await own.request('POST', `${name}/blobs/uploads/`)
    const location = begun.headers.get('location') ?? `/v2/${name}/blobs/uploads/${'0'.repeat(32)}`
    return location.slice('/v2/'.length)
  }
  return { name, image, untaggedBlob: loose, upload: await begin(), cancelled: await begin() }
}
