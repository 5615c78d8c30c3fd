import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** The published rules of the formats that advisories are published in: test/publications, each with its source. */

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
const compiled = new Map<string, ValidateFunction>()

/** What is wrong with a document, '' when nothing is. */
export function formatProblems(format: 'osv' | 'secdb' | 'openvex', document: unknown): string {
  let check = compiled.get(format)
  if (check === undefined) {
    check = ajv.compile(JSON.parse(readFileSync(`test/publications/${format}.json`, 'utf8')))
    compiled.set(format, check)
  }
  return check(document) ? '' : ajv.errorsText(check.errors, { dataVar: 'document', separator: '\n' })
}
