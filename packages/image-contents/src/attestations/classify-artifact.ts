import { documentLimits } from '../documents/document-limits.ts'
import type { Annotations, ArtifactManifest } from './artifact-manifest.ts'
import { type PredicateKind, predicateKind } from './predicate-types.ts'

/** What a blob that is attached to an image holds, as its manifest states it. */
export interface Attachment {
  readonly digest: string
  /** Bytes. */
  readonly size: number
  readonly mediaType: string
  readonly holds: AttachmentKind
  /** Of attestations, if an annotation states it. */
  readonly predicateType: string
}

export type AttachmentKind =
  | 'spdx'
  | 'cyclonedx'
  | 'openvex'
  | 'scanner-report'
  /** An in-toto statement, in an envelope, a bundle or bare. */
  | 'attestation'
  | 'signature'
  /** An SBOM in another format, for example SPDX tag-value: stored, but not read. */
  | 'unsupported-sbom'

/** Kinds by media type without parameters. Those that tools only used in `artifactType` are here too. */
const kinds: Readonly<Record<string, AttachmentKind>> = {
  'application/spdx+json': 'spdx',
  'application/vnd.spdx+json': 'spdx',
  'text/spdx+json': 'spdx',
  'spdx+json': 'spdx',
  'application/vnd.cyclonedx': 'cyclonedx',
  'application/vnd.cyclonedx+json': 'cyclonedx',
  'application/cyclonedx+json': 'cyclonedx',
  'text/spdx': 'unsupported-sbom',
  'text/spdx+xml': 'unsupported-sbom',
  'application/spdx+xml': 'unsupported-sbom',
  'application/vnd.cyclonedx+xml': 'unsupported-sbom',
  'application/vnd.syft+json': 'unsupported-sbom',
  'application/openvex+json': 'openvex',
  'application/vnd.openvex+json': 'openvex',
  'application/sarif+json': 'scanner-report',
  'application/vnd.anchore.grype+json': 'scanner-report',
  'application/vnd.aquasec.trivy.report+json': 'scanner-report',
  'application/vnd.dsse.envelope.v1+json': 'attestation',
  'application/vnd.in-toto+json': 'attestation',
  'application/vnd.in-toto.statement+json': 'attestation',
  'application/vnd.dev.cosign.simplesigning.v1+json': 'signature',
  'application/vnd.cncf.notary.signature': 'signature',
  'application/jose+json': 'signature',
  'application/cose': 'signature',
}

/** Annotations with the predicate type: of buildkit, cosign, and bundles of sigstore. */
const PREDICATE_ANNOTATIONS = [
  'in-toto.io/predicate-type',
  'predicateType',
  'dev.sigstore.bundle.predicateType',
]

/** The bundle of sigstore states here whether it is a signature of a message or an attestation. */
const BUNDLE_CONTENT = 'dev.sigstore.bundle.content'

/**
 * Returns what the layers of a manifest hold, from the media types of the layers, else from the artifact type or the media type of
 * the config; none for images and other artifacts.
 */
export function classifyArtifact(manifest: ArtifactManifest): Attachment[] {
  const { artifactType = manifest.config?.mediaType ?? '', annotations = {} } = manifest
  const layers = manifest.layers?.slice(0, documentLimits.artifactEntriesMax) ?? []
  const whole = kindOf(artifactType, annotations)
  return layers.flatMap((layer) => {
    const merged = { ...annotations, ...layer.annotations }
    const { digest, size, mediaType } = layer
    const holds = kindOf(mediaType, merged) ?? (layers.length === 1 ? whole : undefined)
    return holds === undefined
      ? []
      : [{ digest, size, mediaType, holds, predicateType: predicateTypeIn(merged) }]
  })
}

function kindOf(mediaType: string, annotations: Annotations): AttachmentKind | undefined {
  const [plain = ''] = mediaType.split(';')
  if (plain.startsWith('application/vnd.dev.sigstore.bundle')) {
    return annotations[BUNDLE_CONTENT] === 'message-signature' ? 'signature' : 'attestation'
  }
  return Object.hasOwn(kinds, plain.trim().toLowerCase()) ? kinds[plain.trim().toLowerCase()] : undefined
}

function predicateTypeIn(annotations: Annotations): string {
  return PREDICATE_ANNOTATIONS.map((name) => annotations[name] ?? '').find((type) => type !== '') ?? ''
}

/** Whether the attachment can say what the image contains, or which vulnerabilities it has. Attestations without a stated type can. */
export function isAboutContents({ holds, predicateType }: Attachment): boolean {
  if (holds !== 'attestation') return holds !== 'signature' && holds !== 'unsupported-sbom'
  const kind: PredicateKind = predicateType === '' ? 'custom' : predicateKind(predicateType)
  return kind !== 'provenance' && kind !== 'other'
}

/** Whether an attachment can state something about all images of an index: VEX. */
export function isAboutIndexes({ holds, predicateType }: Attachment): boolean {
  if (holds !== 'attestation') return holds === 'openvex'
  return predicateType === '' || predicateKind(predicateType) === 'openvex'
}

/** A manifest of an index that holds attestations about another manifest of it. */
export interface AttestationManifest {
  readonly digest: string
  /** Digest of the image manifest. */
  readonly subject: string
}

/** Returns the attestation manifests that buildkit adds to an index. */
export function attestationManifests({ manifests = [] }: ArtifactManifest): AttestationManifest[] {
  return manifests.slice(0, documentLimits.artifactEntriesMax).flatMap(({ digest, annotations = {} }) => {
    const subject = annotations['vnd.docker.reference.digest'] ?? ''
    return annotations['vnd.docker.reference.type'] === 'attestation-manifest' && isDigest(subject)
      ? [{ digest, subject }]
      : []
  })
}

/** What a tag that cosign derives from a digest refers to. */
export interface DerivedTag {
  /** Of the image. */
  readonly digest: string
  /** `referrers`: an index of referrers, for registries without the referrers API. */
  readonly refersTo: 'signature' | 'attestation' | 'sbom' | 'referrers'
}

const suffixes = { '.sig': 'signature', '.att': 'attestation', '.sbom': 'sbom', '': 'referrers' } as const

/** Parses `sha256-HEX.att`, `.sbom`, `.sig`, and the referrers tag `sha256-HEX`. Undefined for other tags. */
export function parseDerivedTag(tag: string): DerivedTag | undefined {
  const [, hex, suffix = ''] = /^sha256-([0-9a-f]{64})(\.sig|\.att|\.sbom)?$/.exec(tag) ?? []
  return hex === undefined
    ? undefined
    : { digest: `sha256:${hex}`, refersTo: suffixes[suffix as keyof typeof suffixes] }
}

function isDigest(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text)
}
