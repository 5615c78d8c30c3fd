import type { Manifest } from '@berth/client'

/** What manifests and blobs are, in words, by their media types. */

const patterns: readonly (readonly [RegExp, string])[] = [
  [/cosign|notary|sigstore|signature/, 'Signature'],
  [/spdx|cyclonedx|sbom|syft/, 'SBOM'],
  [/in-toto|dsse|attestation|provenance|slsa/, 'Attestation'],
  [/vex|sarif|vuln/, 'Vulnerability report'],
  [/helm/, 'Helm chart'],
  [/wasm/, 'WebAssembly module'],
]

/** The suffix of a tag that attaches something to a digest, as cosign names it. */
const suffixes: Readonly<Record<string, string>> = { sig: 'Signature', att: 'Attestation', sbom: 'SBOM' }

/** Names what an artifact is; `Artifact` for types that are not known. */
export function artifactName({
  artifactType,
  tag = '',
}: {
  readonly artifactType: string
  readonly tag?: string
}): string {
  const suffix = suffixes[tag.split('.').at(-1) ?? '']
  const type = artifactType.toLowerCase()
  return suffix ?? patterns.find(([pattern]) => pattern.test(type))?.[1] ?? 'Artifact'
}

/** Names what a manifest is. */
export function manifestName({ kind, artifactType }: Pick<Manifest, 'kind' | 'artifactType'>): string {
  if (kind === 'MANIFEST_KIND_INDEX') return 'Index'
  return kind === 'MANIFEST_KIND_IMAGE' ? 'Image' : artifactName({ artifactType })
}

/** Returns the end of a media type that distinguishes it. */
export function shortMediaType(mediaType: string): string {
  return mediaType.replace(
    /^application\/vnd\.(?:oci|docker)\.(?:image\.|distribution\.|container\.image\.)?/,
    '',
  )
}
