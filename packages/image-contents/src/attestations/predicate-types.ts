/** What the predicate of an attestation is. */
export type PredicateKind =
  | 'spdx'
  | 'cyclonedx'
  | 'openvex'
  | 'vulnerabilities'
  | 'provenance'
  /** Any content, which cosign wraps with the time of signing. */
  | 'custom'
  | 'other'

/** Prefixes of the URIs, by cosign, in-toto and their predecessors. The rest is a version. */
const kinds: readonly (readonly [prefix: string, kind: PredicateKind])[] = [
  ['spdx.dev/Document', 'spdx'],
  ['cyclonedx.org/bom', 'cyclonedx'],
  ['cyclonedx.org/schema', 'cyclonedx'],
  ['openvex.dev/ns', 'openvex'],
  ['cosign.sigstore.dev/attestation/vuln', 'vulnerabilities'],
  ['in-toto.io/attestation/vuln', 'vulnerabilities'],
  ['in-toto.io/attestation/vulns', 'vulnerabilities'],
  // The report of a scanner as the predicate: no URI is registered, these are the addresses of its format.
  ['docs.oasis-open.org/sarif', 'vulnerabilities'],
  ['json.schemastore.org/sarif', 'vulnerabilities'],
  ['github.com/anchore/grype', 'vulnerabilities'],
  ['anchore.com/grype', 'vulnerabilities'],
  ['github.com/aquasecurity/trivy', 'vulnerabilities'],
  ['aquasecurity.github.io/trivy', 'vulnerabilities'],
  ['trivy.dev', 'vulnerabilities'],
  ['cyclonedx.org/vdr', 'vulnerabilities'],
  ['slsa.dev/provenance', 'provenance'],
  ['slsa.dev/verification_summary', 'other'],
  ['cosign.sigstore.dev/attestation', 'custom'],
]

/** Older tools write the URI without its scheme. */
export function predicateKind(predicateType: string): PredicateKind {
  const uri = predicateType.replace(/^https?:\/\/(?:www\.)?/, '')
  return kinds.find(([prefix]) => uri === prefix || uri.startsWith(`${prefix}/`))?.[1] ?? 'other'
}
