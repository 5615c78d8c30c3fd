import type { BlobStore } from '../blobs/store.ts'
import type { Uid } from '../core/uid.ts'
import type { HttpRequest } from '../http.ts'
import type { DiskSpace } from '../storage/disk-space.ts'
import type { Mutator } from '../storage/mutation.ts'
import type { Store } from '../storage/store.ts'
import type { Visitor } from './access.ts'
import { ociError } from './errors.ts'
import type { ManifestReader } from './manifest-reader.ts'
import type { Place, RepoName } from './names.ts'
import type { UploadHashes } from './upload-hashes.ts'

/** What the operations of the protocol work with. */
export interface Registry {
  readonly store: Store
  readonly blobs: BlobStore
  readonly disk: Pick<DiskSpace, 'requireSpaceForBlobs' | 'withinSpace'>
  readonly hashes: UploadHashes
  readonly manifests: ManifestReader
}

/** One request: who asks for what. */
export interface Visit {
  readonly request: HttpRequest
  readonly query: URLSearchParams
  readonly visitor: Visitor
  /** When it was asked what the visitor may do; what comes with the request may be long in coming. */
  readonly judgedMs: number
  readonly place: Place
}

/** The full name of an operation of the protocol, in the form of RPC methods. */
export function operationName(operation: string): string {
  return `berth.registry.v1.Distribution/${operation}`
}

/** In the words of the audit log. */
export function mutatorOf(
  { request, visitor, judgedMs }: Omit<Visit, 'place' | 'query'>,
  operation: string,
): Mutator {
  const { caller, grants } = visitor
  const method = operationName(operation)
  return { caller, grants, judgedMs, method, requestId: request.id, address: request.address }
}

/** Throws NAME_UNKNOWN: only for whoever holds what the operation needs, which was asked before. */
export function repoOf({ repo, name }: Place): Uid {
  if (repo === undefined) throw nameUnknown(name)
  return repo
}

export function nameUnknown({ text }: RepoName) {
  return ociError('NAME_UNKNOWN', `there is no repo ${text}`)
}
