import type { ApiError } from '../core/errors.ts'
import {
  type ImageConfiguration,
  type ImageManifest,
  readImage,
  readImageConfig,
} from '../registry/image-json.ts'
import { answerThreadRequests } from '../worker/answer-thread-requests.ts'
import { ownMemory } from '../worker/own-memory.ts'
import { type Algorithm, digestOf } from './digests.ts'
import { type CheckedManifest, checkManifest } from './manifest-check.ts'

/** A worker thread that reads large manifests and image configurations. */

export type ManifestJob =
  | {
      readonly kind: 'push'
      readonly bytes: Uint8Array
      readonly contentType: string | undefined
      readonly algorithm: Algorithm
    }
  | { readonly kind: 'image' | 'config'; readonly bytes: Uint8Array }

export interface PushedManifest {
  /** As they came: the thread had their memory. */
  readonly bytes: Uint8Array
  readonly digest: string
  /** The error of a manifest that is not valid. */
  readonly checked: CheckedManifest | { readonly invalid: string }
}

export type ManifestResult = PushedManifest | ImageManifest | ImageConfiguration | undefined

answerThreadRequests<ManifestJob, ManifestResult>(
  (job) => {
    switch (job.kind) {
      case 'push':
        return readPushed(job.bytes, job.contentType, job.algorithm)
      case 'image':
        return readImage(job.bytes)
      case 'config':
        return readImageConfig(job.bytes)
      default:
        return job satisfies never
    }
  },
  (result) => (result !== undefined && 'bytes' in result ? ownMemory(result.bytes) : []),
)

function readPushed(
  bytes: Uint8Array,
  contentType: string | undefined,
  algorithm: Algorithm,
): PushedManifest {
  const digest = digestOf(algorithm, bytes)
  try {
    return { bytes, digest, checked: checkManifest(bytes, contentType) }
  } catch (error) {
    const { reason, message } = error as ApiError
    if (reason !== 'MANIFEST_INVALID') throw error
    return { bytes, digest, checked: { invalid: message } }
  }
}
