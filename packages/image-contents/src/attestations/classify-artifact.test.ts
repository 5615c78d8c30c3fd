import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ArtifactManifest } from './artifact-manifest.ts'
import {
  attestationManifests,
  classifyArtifact,
  isAboutContents,
  parseDerivedTag,
} from './classify-artifact.ts'

const digest = `sha256:${'a'.repeat(64)}`
const subject = `sha256:${'b'.repeat(64)}`
const EMPTY = 'application/vnd.oci.empty.v1+json'
const CONFIG = 'application/vnd.oci.image.config.v1+json'

function manifest(
  layerType: string,
  rest: {
    readonly artifactType?: string
    readonly config?: string
    readonly annotations?: Record<string, string>
    readonly layerAnnotations?: Record<string, string>
  } = {},
): ArtifactManifest {
  return {
    artifactType: rest.artifactType,
    config: { mediaType: rest.config ?? EMPTY, digest, size: 2 },
    layers: [{ mediaType: layerType, digest, size: 10, annotations: rest.layerAnnotations }],
    annotations: rest.annotations,
  }
}

const SPDX = 'https://spdx.dev/Document'

/** Manifests as tools push them: what they hold, and the predicate type. */
const pushed: readonly (readonly [tool: string, manifest: ArtifactManifest, holds: string])[] = [
  [
    'oras attach, trivy',
    manifest('application/spdx+json', { artifactType: 'application/spdx+json' }),
    'spdx',
  ],
  [
    'oras attach with a file of no type',
    manifest('application/vnd.oci.image.layer.v1.tar', { artifactType: 'application/vnd.cyclonedx+json' }),
    'cyclonedx',
  ],
  ['cosign attach sbom', manifest('text/spdx+json', { config: CONFIG }), 'spdx'],
  [
    'cosign attach sbom, CycloneDX',
    manifest('application/vnd.cyclonedx+json', { config: CONFIG }),
    'cyclonedx',
  ],
  ['ko', manifest('text/spdx+json', { config: 'application/vnd.docker.container.image.v1+json' }), 'spdx'],
  ['SPDX tag-value', manifest('text/spdx', { config: CONFIG }), 'unsupported-sbom'],
  [
    'cosign attest',
    manifest('application/vnd.dsse.envelope.v1+json', {
      config: CONFIG,
      layerAnnotations: { predicateType: SPDX },
    }),
    `attestation ${SPDX}`,
  ],
  [
    'buildkit',
    manifest('application/vnd.in-toto+json', {
      config: CONFIG,
      layerAnnotations: { 'in-toto.io/predicate-type': SPDX },
    }),
    `attestation ${SPDX}`,
  ],
  [
    'cosign 3, GitHub',
    manifest('application/vnd.dev.sigstore.bundle.v0.3+json', {
      artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      annotations: {
        'dev.sigstore.bundle.content': 'dsse-envelope',
        'dev.sigstore.bundle.predicateType': SPDX,
      },
    }),
    `attestation ${SPDX}`,
  ],
  [
    'cosign 3 sign',
    manifest('application/vnd.dev.sigstore.bundle.v0.3+json', {
      annotations: { 'dev.sigstore.bundle.content': 'message-signature' },
    }),
    'signature',
  ],
  [
    'a bundle with its version as a parameter',
    manifest('application/vnd.dev.sigstore.bundle+json;version=0.1'),
    'attestation',
  ],
  [
    'cosign sign',
    manifest('application/vnd.dev.cosign.simplesigning.v1+json', { config: CONFIG }),
    'signature',
  ],
  [
    'notation',
    manifest('application/jose+json', { config: 'application/vnd.cncf.notary.signature' }),
    'signature',
  ],
  ['SARIF', manifest('application/sarif+json', { artifactType: 'application/sarif+json' }), 'scanner-report'],
  ['an image', manifest('application/vnd.oci.image.layer.v1.tar+gzip', { config: CONFIG }), ''],
  [
    'a chart',
    manifest('application/vnd.cncf.helm.chart.content.v1.tar+gzip', { artifactType: 'constructor' }),
    '',
  ],
]

test('manifests state what they hold', () => {
  for (const [tool, pushedManifest, expected] of pushed) {
    const found = classifyArtifact(pushedManifest)
    assert.equal(
      found.map(({ holds, predicateType }) => `${holds} ${predicateType}`.trim()).join(),
      expected,
      tool,
    )
  }
})

test('several layers of one type each count, and an artifact type does not extend to them', () => {
  const one = manifest('application/octet-stream', { artifactType: 'application/spdx+json' })
  assert.equal(classifyArtifact(one).length, 1)
  assert.equal(classifyArtifact({ ...one, layers: [...one.layers!, ...one.layers!] }).length, 0)
  assert.deepEqual(classifyArtifact({ mediaType: 'application/vnd.oci.image.index.v1+json' }), [])
})

test('provenance and signatures say nothing about contents', () => {
  const of = (predicateType: string) =>
    classifyArtifact(manifest('application/vnd.in-toto+json', { annotations: { predicateType } }))
  const cases = [
    [SPDX, true],
    ['', true],
    ['https://cosign.sigstore.dev/attestation/v1', true],
    ['https://cosign.sigstore.dev/attestation/vuln/v1', true],
    ['https://slsa.dev/provenance/v1', false],
    ['https://example.com/own/v1', false],
  ] as const
  for (const [type, expected] of cases) assert.deepEqual(of(type).map(isAboutContents), [expected], type)
  assert.deepEqual(classifyArtifact(manifest('application/jose+json')).map(isAboutContents), [false])
})

test('buildkit relates attestation manifests to image manifests in the index', () => {
  const annotations = {
    'vnd.docker.reference.type': 'attestation-manifest',
    'vnd.docker.reference.digest': subject,
  }
  const entry = { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest, size: 1 }
  assert.deepEqual(
    attestationManifests({
      manifests: [
        entry,
        { ...entry, annotations },
        { ...entry, annotations: { ...annotations, 'vnd.docker.reference.digest': 'latest' } },
      ],
    }),
    [{ digest, subject }],
  )
})

test('cosign derives tags from digests', () => {
  const hex = 'c'.repeat(64)
  const cases = [
    [`sha256-${hex}.att`, 'attestation'],
    [`sha256-${hex}.sig`, 'signature'],
    [`sha256-${hex}.sbom`, 'sbom'],
    [`sha256-${hex}`, 'referrers'],
  ] as const
  for (const [tag, refersTo] of cases)
    assert.deepEqual(parseDerivedTag(tag), { digest: `sha256:${hex}`, refersTo }, tag)
  for (const tag of [
    'latest',
    `sha256-${hex}.txt`,
    `sha256-${hex.slice(1)}.att`,
    `sha256-${hex.toUpperCase()}.att`,
  ])
    assert.equal(parseDerivedTag(tag), undefined, tag)
})
