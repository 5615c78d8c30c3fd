import type { Uid } from '../../api/uid.ts'
import type { Authorization } from '../../pipeline/authorization.ts'
import type { HttpRequest } from '../../port/http.ts'
import type { Mutator } from '../../storage/changes/mutation.ts'
import type { DiskSpace } from '../../storage/disk-space.ts'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { ManifestReader } from '../manifests/manifest-reader.ts'
import type { RepoAuthorization } from './access.ts'
import { ociError } from './errors.ts'
import type { UploadHashes } from './operations/upload-hashes.ts'
import type { RepoName, RepoReference } from './repo-names.ts'

/** What the operations of the protocol use. */
export interface OciServices {
  readonly store: Store
  readonly blobs: BlobStore
  readonly disk: Pick<DiskSpace, 'requireSpaceForBlobs' | 'limitToFreeSpace'>
  readonly hashes: UploadHashes
  readonly manifests: ManifestReader
}

/** One authorized request. `A`: what it is authorized for. */
export interface OciContext<A extends Authorization = RepoAuthorization> {
  readonly request: HttpRequest
  readonly query: URLSearchParams
  readonly authorization: A
  /** When the pipeline started to authorize the caller; the body may arrive much later. */
  readonly authorizedMs: number
}

/** The full name of an operation of the protocol, in the form of RPC methods. */
export function operationName(operation: string): string {
  return `berth.registry.v1.Distribution/${operation}`
}

/** Who changes something, for the audit log. */
export function mutatorOf(
  { request, authorization, authorizedMs }: Omit<OciContext<Authorization>, 'query'>,
  operation: string,
): Mutator {
  const { caller, grants } = authorization
  const method = operationName(operation)
  return { caller, grants, authorizedMs, method, requestId: request.id, address: request.address }
}

/** Throws NAME_UNKNOWN. Only an authorized caller learns whether the repository exists. */
export function requireRepo({ repo, name }: RepoReference): Uid {
  if (repo === undefined) throw nameUnknownError(name)
  return repo
}

export function nameUnknownError({ text }: RepoName) {
  return ociError('NAME_UNKNOWN', `there is no repo ${text}`)
}
