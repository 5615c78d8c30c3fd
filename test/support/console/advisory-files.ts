import { osvRecord } from '../advisories/feeds.ts'

/** Documents that tests of the console import. */

export interface UploadedFile {
  readonly name: string
  readonly mimeType: string
  readonly buffer: Buffer
}

export const fileOf = (name: string, content: string | Buffer): UploadedFile => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: Buffer.from(content),
})

export const VECTOR = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H'

export const wolfiDocument = (name: string, note = 'limits are set') => `schema-version: 2.0.2
package:
  name: ${name}
advisories:
  - id: CGA-2222-3333-4444
    aliases: [CVE-2024-7347, GHSA-2222-3333-4444]
    events:
      - timestamp: 2024-08-15T10:00:00Z
        type: detection
        data: {type: manual}
      - timestamp: 2024-08-16T10:00:00Z
        type: fixed
        data: {fixed-version: 1.27.1-r0}
  - id: CGA-5555-6666-7777
    aliases: [CVE-2023-44487]
    events:
      - timestamp: 2023-10-11T10:00:00Z
        type: false-positive-determination
        data: {type: vulnerable-code-not-in-execution-path, note: ${JSON.stringify(note)}}
`

/** The score of a vulnerability of the Wolfi document. */
export const scoreDocument = JSON.stringify(
  osvRecord(1, { id: 'CVE-2024-7347', severity: [{ type: 'CVSS_V3', score: VECTOR }] }),
)

export const osvDocument = (number: number) => JSON.stringify(osvRecord(number))
