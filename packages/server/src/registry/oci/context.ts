import type { Uid } from '../../api/uid.ts'
import type { Authorization } from '../../pipeline/authorization.ts'
import type { HttpRequest } from '../../port/http.ts'
import type { Mutator } from '../../storage/changes/mutation.ts'
import type { DiskSpace } from '../../storage/disk-space.ts'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { ManifestReader } from '../manifests/manifest-reader.ts'
import type { TransferCounter } from '../usage/transfer-counter.ts'
import type { RepoAuthorization } from './access.ts'
import { ociError } from './errors.ts'
import type { UploadHashes } from './operations/upload-hashes.ts'
import type { PullPolicies } from './pull-policies.ts'
import type { RepoName, RepoReference } from './repo-names.ts'

/** Dependencies of the OCI operations. */
export interface OciServices {
  readonly store: Store
  readonly blobs: BlobStore
  readonly disk: Pick<DiskSpace, 'requireSpaceForBlobs' | 'limitToFreeSpace'>
  readonly hashes: UploadHashes
  readonly manifests: ManifestReader
  readonly transfers: TransferCounter
  readonly pullPolicies: PullPolicies
}

/** One authorized request. `A`: what it is authorized for. */
export interface OciContext<A extends Authorization = RepoAuthorization> {
  readonly request: HttpRequest
  readonly query: URLSearchParams
  readonly authorization: A
  /** When the pipeline started to authorize the caller; the body may arrive much later. */
  readonly authorizedMs: number
}

/** Returns the full name of an OCI operation, in the form of RPC methods. */
export function operationName(operation: string): string {
  return `berth.registry.v1.Distribution/${operation}`
}

/** Returns the caller as an actor of the audit log. */
export function mutatorOf(
  { request, authorization, authorizedMs }: Omit<OciContext<Authorization>, 'query'>,
  operation: string,
): Mutator {
  const { caller, grants } = authorization
  const method = operationName(operation)
  return { caller, grants, authorizedMs, method, requestId: request.id, address: request.address }
}

/** Throws NAME_UNKNOWN if the repo does not exist. Call it only after the caller was authorized. */
export function requireRepo({ repo, name }: RepoReference): Uid {
  if (repo === undefined) throw nameUnknownError(name)
  return repo
}

export function nameUnknownError({ text }: RepoName) {
  return ociError('NAME_UNKNOWN', `repository ${text} not found`)
}
