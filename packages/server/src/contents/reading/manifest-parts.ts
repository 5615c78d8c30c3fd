import type { ArtifactManifest } from '@berth/image-contents/attestations/artifact-manifest.ts'

/** What manifests say about their parts. The manifests were validated when they were pushed. */

export function parseManifest(bytes: Uint8Array): ArtifactManifest {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as ArtifactManifest
}

const CONFIGURATION = /^application\/vnd\.(?:oci\.image\.config|docker\.container\.image)\.v1\+json$/
const LAYER =
  /^application\/vnd\.(?:oci\.image\.layer(?:\.nondistributable)?\.v1\.tar|docker\.image\.rootfs(?:\.foreign)?\.diff\.tar)/

/** Attachments may have the configuration of an image too, but none of its layers. */
export function isImage({ manifests, config, layers = [] }: ArtifactManifest): boolean {
  if (manifests !== undefined || config === undefined || !CONFIGURATION.test(config.mediaType)) return false
  return layers.length === 0 || layers.some(({ mediaType }) => LAYER.test(mediaType))
}

export function formatName(format: 'SPDX' | 'CycloneDX', version: string): string {
  return `${format.toLowerCase()}-${version}`
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
