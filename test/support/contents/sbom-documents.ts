import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The real SBOMs and attestations of test/sboms, with the counts of test/sboms/expectations.json. */

const ROOT = 'test/sboms'

export interface SbomExpectation {
  readonly kind: 'spdx2' | 'spdx3' | 'cdx'
  readonly spec: string
  readonly packages?: number
  readonly components_all?: number
  readonly with_purl: number
  readonly files?: number
  readonly relationships?: number
  readonly dependencies?: number
  readonly vulnerabilities?: number
  readonly described?: number
}

export interface AttestationExpectation {
  readonly kind: 'attestation'
  readonly entries: readonly {
    readonly form: string
    readonly signatures: number
    readonly statement: string
    readonly predicateType: string
    readonly subjects: number
    readonly inner: string
  }[]
}

const expectations: Readonly<Record<string, SbomExpectation | AttestationExpectation>> = JSON.parse(
  readFileSync(join(ROOT, 'expectations.json'), 'utf8'),
)

/** The SBOMs by path. */
export function sbomDocuments(): [path: string, expected: SbomExpectation][] {
  return Object.entries(expectations).flatMap(([path, expected]) =>
    expected.kind === 'attestation' ? [] : [[path, expected] as [string, SbomExpectation]],
  )
}

/** The attestations by path. */
export function attestationDocuments(): [path: string, expected: AttestationExpectation][] {
  return Object.entries(expectations).flatMap(([path, expected]) =>
    expected.kind === 'attestation' ? [[path, expected] as [string, AttestationExpectation]] : [],
  )
}

/** All paths below test/sboms with documents. */
export function documentPaths(): string[] {
  return globSync('{attestations,cyclonedx-json,spdx-json,spdx3-json}/*', { cwd: ROOT }).sort()
}

export function readDocumentFile(path: string): Buffer {
  return readFileSync(join(ROOT, path))
}
