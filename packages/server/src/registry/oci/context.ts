import type { Uid } from '../../api/uid.ts'
import type { HttpRequest } from '../../port/http.ts'
import type { Mutator } from '../../storage/changes/mutation.ts'
import type { DiskSpace } from '../../storage/disk-space.ts'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { ManifestReader } from '../manifests/manifest-reader.ts'
import type { OciAccess } from './access.ts'
import { ociError } from './errors.ts'
import type { UploadHashes } from './operations/upload-hashes.ts'
import type { RepoName, RepoReference } from './repo-names.ts'

/** What the operations of the protocol work with. */
export interface OciServices {
  readonly store: Store
  readonly blobs: BlobStore
  readonly disk: Pick<DiskSpace, 'requireSpaceForBlobs' | 'limitToFreeSpace'>
  readonly hashes: UploadHashes
  readonly manifests: ManifestReader
}

/** One request: who asks for what. */
export interface OciContext {
  readonly request: HttpRequest
  readonly query: URLSearchParams
  readonly access: OciAccess
  /** When it was asked what the visitor may do; what comes with the request may be long in coming. */
  readonly authorizedMs: number
  readonly repoRef: RepoReference
}

/** The full name of an operation of the protocol, in the form of RPC methods. */
export function operationName(operation: string): string {
  return `berth.registry.v1.Distribution/${operation}`
}

/** In the words of the audit log. */
export function mutatorOf(
  { request, access, authorizedMs }: Omit<OciContext, 'repoRef' | 'query'>,
  operation: string,
): Mutator {
  const { caller, grants } = access
  const method = operationName(operation)
  return { caller, grants, authorizedMs, method, requestId: request.id, address: request.address }
}

/** Throws NAME_UNKNOWN: only for whoever holds what the operation needs, which was asked before. */
export function requireRepo({ repo, name }: RepoReference): Uid {
  if (repo === undefined) throw nameUnknownError(name)
  return repo
}

export function nameUnknownError({ text }: RepoName) {
  return ociError('NAME_UNKNOWN', `there is no repo ${text}`)
}
