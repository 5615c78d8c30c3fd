import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttachmentKind } from '@berth/image-contents/attestations/classify-artifact.ts'
import { readAttachment } from '@berth/image-contents/attestations/read-attachment.ts'
import { type Attestation, readAttestation } from '@berth/image-contents/attestations/read-attestation.ts'
import { readSbom } from '@berth/image-contents/sbom/read-sbom.ts'
import { attestationDocuments, readDocumentFile } from './support/contents/sbom-documents.ts'

/** Real attestations of cosign, buildkit, sigstore and others. */

const forms = { dsse: 'DSSE', 'sigstore-bundle': 'sigstore bundle', statement: 'statement' } as const

test('every attestation has the counted signatures and subjects, and the SBOM inside', () => {
  const documents = attestationDocuments()
  assert.equal(documents.length, 18)
  for (const [path, { entries }] of documents) {
    const read = readAttestation(readDocumentFile(path))
    assert.deepEqual(
      {
        form: forms[read.form],
        signatures: read.signatures,
        statement: read.statementType.replace(/^.*\//, ''),
        predicateType: read.predicateType,
        subjects: read.subjects.length,
        inner: innerOf(read),
      },
      entries[0],
      path,
    )
  }
})

function innerOf({ kind, content }: Attestation): string {
  const isSbom =
    kind === 'spdx' || kind === 'cyclonedx' || /"spdxVersion"/.test(Buffer.from(content).toString())
  if (!isSbom) return '-'
  const { format, version, elements } = readSbom(content)
  return `${format}-${version} packages/components=${elements.packages} with_purl=${elements.packagesWithPurl}`
}

test('the content of a predicate keeps its exact text', () => {
  const predicate = '{ "a" : 1.0,"b":[{"predicate":2}, "}\\"" ] }'
  const statement = `{"predicate":0,"subject":[{"name":"app","digest":{"sha256":"${'AB'.repeat(32)}"}}],
    "_type":"https://in-toto.io/Statement/v1","predicateType":"https://openvex.dev/ns/v0.2.0","predicate":${predicate}}`
  const { content, kind, subjects } = readAttestation(Buffer.from(statement))
  assert.equal(Buffer.from(content).toString(), predicate)
  assert.equal(kind, 'openvex')
  assert.deepEqual(subjects, [{ name: 'app', digests: [`sha256:${'ab'.repeat(32)}`] }])
})

test('subjects may have a URI only', () => {
  const { subjects, kind } = readAttestation(readDocumentFile('attestations/guac-certify-vuln.json'))
  assert.equal(kind, 'vulnerabilities')
  assert.deepEqual(subjects, [{ name: 'pkg:maven/org.apache.logging.log4j/log4j-core@2.8.1', digests: [] }])
})

test('an attached document is read as what it is', () => {
  const cases: readonly (readonly [path: string, holds: AttachmentKind, expected: string])[] = [
    ['spdx-json/guac-alpine-small-spdx.json', 'spdx', 'sbom of 3'],
    // Tools attach CycloneDX under the type of SPDX and the other way round.
    ['cyclonedx-json/trivy-bom.json', 'spdx', 'sbom of 6'],
    ['cyclonedx-json/guac-xray-cdx-vulns.json', 'cyclonedx', 'sbom of 1, report of 1'],
    ['cyclonedx-json/bom-examples-Case-1-vex.json', 'cyclonedx', 'report of 0'],
    ['spdx3-json/spdx-examples-spdx3.0-sbom.spdx3.json', 'spdx', 'sbom of 4'],
    ['attestations/trivy-sbom.cdx.intoto.jsonl', 'attestation', 'sbom of 6'],
    ['attestations/derived-apko-unbound.custom.dsse.json', 'attestation', 'sbom of 3'],
    ['attestations/cosign-valid-custom', 'attestation', ''],
    ['attestations/sigstore-go-bundle-provenance.json', 'attestation', ''],
    ['attestations/guac-certify-vuln.json', 'attestation', 'report of 8'],
    ['cyclonedx-json/trivy-bom.json', 'unsupported-sbom', ''],
    ['cyclonedx-json/guac-xray-cdx-vulns.json', 'scanner-report', 'report of 1'],
  ]
  for (const [path, holds, expected] of cases) {
    const { sbom, report, isOpenvex } = readAttachment(readDocumentFile(path), holds)
    const parts = [
      sbom === undefined ? '' : `sbom of ${sbom.contents.packages.length}`,
      report === undefined ? '' : `report of ${report.vulnerabilities.length}`,
      isOpenvex ? 'openvex' : '',
    ]
    assert.equal(parts.filter((part) => part !== '').join(', '), expected, path)
  }
})

test('OpenVEX in an attestation keeps its bytes', () => {
  const vex = '{"@context": "https://openvex.dev/ns/v0.2.0", "statements": []}'
  const statement = (predicate: string) =>
    Buffer.from(
      `{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://openvex.dev/ns","subject":[],"predicate":${predicate}}`,
    )
  const { isOpenvex, content } = readAttachment(statement(vex), 'attestation')
  assert.ok(isOpenvex)
  assert.equal(Buffer.from(content).toString(), vex)
  assert.throws(() => readAttachment(statement('{"statements":[]}'), 'attestation'), {
    name: 'DocumentProblem',
    message: 'the document is not OpenVEX',
  })
  assert.throws(() => readAttachment(Buffer.from('{"a":1}'), 'spdx'), {
    message: 'the document is neither SPDX nor CycloneDX',
  })
})
