import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Format, ReadResult } from './advisory-record.ts'
import { readCsaf } from './csaf/read-csaf.ts'
import { isEpss, readEpss } from './exploitation/read-epss.ts'
import { readKev } from './exploitation/read-kev.ts'
import { readOsv } from './osv/read-osv.ts'
import { createDocumentBudget } from './reading/document-budget.ts'
import type { FormatReader } from './reading/format-reader.ts'
import { checkIndexedNames } from './reading/indexed-names.ts'
import { createUnmappedTally } from './reading/unmapped-fields.ts'
import { noTexts, vulnerabilityRecordsOf } from './reading/vulnerability-records.ts'
import { readSecdb } from './secdb/read-secdb.ts'
import { decodeDocument, decodeLossy } from './syntax/decode-document.ts'
import { parseJson } from './syntax/parse-json.ts'
import { parseYaml } from './syntax/parse-yaml.ts'
import { DocumentProblem, type Fields, problemWith } from './syntax/source-value.ts'
import { field, fieldsOf, peek } from './syntax/value-fields.ts'
import { readOpenvex } from './vex/read-openvex.ts'
import { readWolfi } from './wolfi/read-wolfi.ts'
import { readWolfiV1 } from './wolfi/read-wolfi-v1.ts'

/**
 * Reads an advisory document of any format, in JSON or YAML, or a catalog of CVEs (KEV in JSON, EPSS in CSV). With format '', detects the format from the content. Returns the reason
 * and place of a rejection instead of throwing. The name only decides whether ambiguous content is JSON or YAML.
 */
export function readDocument(name: string, format: Format | '', content: Uint8Array): ReadResult {
  try {
    const text = decodeDocument(content)
    if (format === 'epss' || (format === '' && isEpss(text))) {
      return {
        document: {
          ...readEpss(text),
          format: 'epss',
          advisories: [],
          scores: [],
          records: [],
          unmapped: [],
        },
      }
    }
    const root = fieldsOf(isJson(name, text) ? parseJson(text) : parseYaml(text))
    const actual = format || detectFormat(root)
    const tally = createUnmappedTally()
    const {
      textsOf = noTexts,
      ids = [],
      ...read
    } = readerOf(actual, root)(root, tally, createDocumentBudget())
    tally.addUnread(root)
    const id = documentId(read.id, actual, name, content)
    checkIndexedNames(root, { ...read, id })
    const records = vulnerabilityRecordsOf(read, textsOf, ids)
    return { document: { ...read, format: actual, id, records, unmapped: tally.list() } }
  } catch (error) {
    if (error instanceof DocumentProblem) return { rejection: error.rejection(() => decodeLossy(content)) }
    throw error
  }
}

/** A security database has no revision time, so only a document with the same file name replaces it. */
function documentId(own: string, format: Format, name: string, content: Uint8Array): string {
  if (own === '') return `sha256:${createHash('sha256').update(content).digest('hex')}`
  return format === 'secdb' ? `${own}#${basename(name)}` : own
}

function isJson(name: string, text: string): boolean {
  return /^\s*[{[]/.test(text) && !/\.ya?ml$/i.test(name)
}

function readerOf(format: Exclude<Format, 'epss'>, root: Fields): FormatReader {
  switch (format) {
    case 'wolfi':
      return field(root, 'schema-version') === undefined && field(root, 'advisories')?.kind === 'fields'
        ? readWolfiV1
        : readWolfi
    case 'osv':
      return readOsv
    case 'secdb':
      return readSecdb
    case 'openvex':
      return readOpenvex
    case 'csaf':
      return readCsaf
    case 'kev':
      return readKev
  }
}

/** Detects the format by combinations of fields that no other format has. */
function detectFormat(root: Fields): Exclude<Format, 'epss'> {
  const has = (...names: string[]) => names.every((each) => root.byName.has(each))
  if (has('document') && (has('vulnerabilities') || has('product_tree'))) return 'csaf'
  if (has('statements') || /openvex/i.test(peek(root, '@context'))) return 'openvex'
  if (has('package', 'advisories')) return 'wolfi'
  if (has('packages') && (has('urlprefix') || has('reponame') || has('apkurl'))) return 'secdb'
  if (has('id', 'modified')) return 'osv'
  if (has('catalogVersion', 'vulnerabilities')) return 'kev'
  throw problemWith(root, 'is not a Wolfi, OSV, secdb, OpenVEX or CSAF document, nor a KEV or EPSS catalog')
}
