import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'

/** The published schemas of SBOMs and reports: test/publications, each with its source. */

const read = (name: string) => JSON.parse(readFileSync(`test/publications/${name}.json`, 'utf8'))

const ajv = new Ajv({ strict: false, allErrors: true })
addFormats.default(ajv)
// Addresses with characters outside of ASCII.
ajv.addFormat('iri-reference', true)
ajv.addFormat('idn-email', true)
ajv.addSchema(read('cyclonedx-licenses'))
ajv.addSchema(read('cyclonedx-signatures'))
const checks = {
  'spdx-2.3': ajv.compile(read('spdx-2.3')),
  'cyclonedx-1.6': ajv.compile(read('cyclonedx-1.6')),
  'sarif-2.1.0': ajv.compile(read('sarif-2.1.0')),
}

/** Returns what is wrong with a document, '' if nothing is. */
export function sbomProblems(format: keyof typeof checks, document: string): string {
  const check = checks[format]
  return check(JSON.parse(document))
    ? ''
    : ajv.errorsText(check.errors, { dataVar: 'document', separator: '\n' })
}
