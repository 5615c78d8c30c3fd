import type { ApiError } from '../../api/errors.ts'
import { serveThreadRequests } from '../../runtime/workers/serve-thread-requests.ts'
import { transferableBuffers } from '../../runtime/workers/transferable-buffers.ts'
import { type DigestAlgorithm, digestOf } from './digests.ts'
import { parseStoredConfiguration, type StoredConfiguration } from './image-configuration.ts'
import {
  type ImageConfiguration,
  type ImageManifest,
  parseImageConfig,
  parseImageManifest,
} from './image-json.ts'
import { parseStoredManifest, type StoredManifest } from './manifest-content.ts'
import { type ParsedManifest, parseManifest } from './manifest-parser.ts'

/** A worker thread that parses large manifests and image configurations. */

export type ManifestJob =
  | {
      readonly kind: 'push'
      readonly bytes: Uint8Array
      readonly contentType: string | undefined
      readonly algorithm: DigestAlgorithm
    }
  | { readonly kind: 'image' | 'config' | 'content' | 'configuration'; readonly bytes: Uint8Array }

export interface PushedManifest {
  /** The original bytes: their memory was transferred to the thread. */
  readonly bytes: Uint8Array
  readonly digest: string
  /** Why a manifest is invalid, or its content. */
  readonly checked: ParsedManifest | { readonly invalid: string }
}

export type ManifestResult =
  | PushedManifest
  | ImageManifest
  | ImageConfiguration
  | StoredManifest
  | StoredConfiguration
  | undefined

serveThreadRequests<ManifestJob, ManifestResult>(
  (job) => {
    switch (job.kind) {
      case 'push':
        return parsePushed(job.bytes, job.contentType, job.algorithm)
      case 'image':
        return parseImageManifest(job.bytes)
      case 'config':
        return parseImageConfig(job.bytes)
      case 'content':
        return parseStoredManifest(job.bytes)
      case 'configuration':
        return parseStoredConfiguration(job.bytes)
      default:
        return job satisfies never
    }
  },
  (result) => (result !== undefined && 'bytes' in result ? transferableBuffers(result.bytes) : []),
)

function parsePushed(
  bytes: Uint8Array,
  contentType: string | undefined,
  algorithm: DigestAlgorithm,
): PushedManifest {
  const digest = digestOf(algorithm, bytes)
  try {
    return { bytes, digest, checked: parseManifest(bytes, contentType) }
  } catch (error) {
    const { reason, message } = error as ApiError
    if (reason !== 'MANIFEST_INVALID') throw error
    return { bytes, digest, checked: { invalid: message } }
  }
}
