import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import { formatLimits } from '../limits.ts'
import { type Fields, problemWith, type Value } from '../syntax/source-value.ts'
import type { OsvExtension } from './osv-extension.ts'

/** Reads OSV extensions (osv-extension.ts) from OSV records, leaving out what violates the OSV schema. */

/** An entry of `affected`, with its ranges about one package. */
export interface ExtensionEntry {
  readonly entry: Fields
  readonly ranges: readonly Fields[]
}

/** Returns a function that writes the extension of each advisory of one record, each of which repeats the record's own fields. */
export function createOsvExtensionWriter(
  root: Fields,
  advisories: number,
): (entries: readonly ExtensionEntry[]) => string {
  const { advisoryExtensionCharsMax: max, advisoryDocumentNoteCharsMax: allMax } = formatLimits
  const fullRecord = recordOf(root)
  const chars = JSON.stringify(fullRecord).length
  const record = chars <= max / 2 && chars * advisories <= allMax / 2 ? fullRecord : shortenRecord(fullRecord)
  let all = 0
  return (entries) => {
    const extension: OsvExtension = { record, affected: entries.map(affectedOf) }
    const text = JSON.stringify(extension)
    all += text.length
    const about = entries[0]?.entry ?? root
    if (text.length > max) throw problemWith(about, `has more than ${max} characters about one package`)
    if (all > allMax)
      throw problemWith(
        about,
        `has more than ${allMax} characters of extensions, as each package repeats the fields of the record`,
      )
    return text
  }
}

/** Keeps only short fields; the others stay in the stored document. */
function shortenRecord({ modified, summary, upstream }: JsonObject): JsonObject {
  return withoutUndefined({ modified, summary, upstream })
}

/** Fields of `database_specific` that are written with published advisories (write-osv.ts). No other source uses these names. */
const ownFields = ['advisory', 'origin', 'product', 'componentProduct'] as const

function recordOf(root: Fields): JsonObject {
  const aliases = new Set(textsIn(root, 'aliases'))
  return withoutUndefined({
    modified: text(root, 'modified'),
    summary: text(root, 'summary'),
    details: text(root, 'details'),
    upstream: nonEmpty(textsIn(root, 'upstream').filter((id) => !aliases.has(id))),
    related: nonEmpty(textsIn(root, 'related')),
    severity: nonEmpty(severityIn(root)),
    references: nonEmpty(objectsOf(root, 'references').flatMap(referenceOf)),
    credits: nonEmpty(objectsOf(root, 'credits').flatMap(creditOf)),
    database_specific: freeFormObject(root, 'database_specific'),
  })
}

function affectedOf({ entry, ranges }: ExtensionEntry): JsonObject {
  const described = entry.byName.get('package')
  const purl = described?.kind === 'fields' ? text(described, 'purl') : undefined
  const specific = freeFormObject(entry, 'database_specific')
  const rest =
    specific === undefined
      ? []
      : Object.entries(specific).filter(([name]) => !(ownFields as readonly string[]).includes(name))
  return withoutUndefined({
    purl: purl !== undefined && PURL.test(purl) ? purl : undefined,
    severity: nonEmpty(severityIn(entry)),
    ranges: nonEmpty(ranges.flatMap(rangeOf)),
    versions: nonEmpty(textsIn(entry, 'versions')),
    ecosystem_specific: freeFormObject(entry, 'ecosystem_specific'),
    database_specific: rest.length > 0 ? Object.fromEntries(rest) : undefined,
  })
}

const PURL = /^pkg:[a-z0-9.-]+\/[^\s@?#]+(\?[^\s@#]+)?$/
const rangeTypes = new Set(['SEMVER', 'ECOSYSTEM', 'GIT'])
const eventNames = ['introduced', 'fixed', 'last_affected', 'limit'] as const

function rangeOf(range: Fields): JsonObject[] {
  const type = text(range, 'type')
  const repo = text(range, 'repo')
  const events = objectsOf(range, 'events').flatMap((event) =>
    eventNames.flatMap((name) => {
      const version = text(event, name)
      return version === undefined ? [] : [{ [name]: version }]
    }),
  )
  const isWhole = type !== 'GIT' || repo !== undefined
  if (type === undefined || !rangeTypes.has(type) || !isWhole) return []
  // A range without `introduced` has no meaning.
  if (!events.some((event) => 'introduced' in event)) return []
  return [
    withoutUndefined({ type, repo, events, database_specific: freeFormObject(range, 'database_specific') }),
  ]
}

const severityTypes = new Set(['CVSS_V2', 'CVSS_V3', 'CVSS_V4', 'Ubuntu'])

function severityIn(fields: Fields): JsonObject[] {
  return objectsOf(fields, 'severity').flatMap((severity) => {
    const type = text(severity, 'type')
    const score = text(severity, 'score')
    return type === undefined || !severityTypes.has(type) || score === undefined ? [] : [{ type, score }]
  })
}

const referenceTypes = new Set([
  ...['ADVISORY', 'ARTICLE', 'DETECTION', 'DISCUSSION', 'REPORT', 'FIX', 'INTRODUCED', 'PACKAGE', 'EVIDENCE'],
  ...['GIT', 'WEB'],
])

function referenceOf(reference: Fields): JsonObject[] {
  const type = text(reference, 'type') ?? ''
  const url = text(reference, 'url')
  if (url === undefined || !URL.canParse(url)) return []
  return [{ type: referenceTypes.has(type) ? type : 'WEB', url }]
}

const creditTypes = new Set([
  ...['FINDER', 'REPORTER', 'ANALYST', 'COORDINATOR', 'REMEDIATION_DEVELOPER', 'REMEDIATION_REVIEWER'],
  ...['REMEDIATION_VERIFIER', 'TOOL', 'SPONSOR', 'OTHER'],
])

function creditOf(credit: Fields): JsonObject[] {
  const type = text(credit, 'type') ?? ''
  const name = text(credit, 'name')
  if (name === undefined) return []
  const contact = nonEmpty(textsIn(credit, 'contact'))
  return [withoutUndefined({ name, contact, type: creditTypes.has(type) ? type : undefined })]
}

/** Removes undefined fields. */
function withoutUndefined(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

function nonEmpty<T>(list: readonly T[]): T[] | undefined {
  return list.length === 0 ? undefined : [...list]
}

function text(fields: Fields, name: string): string | undefined {
  const value = fields.byName.get(name)
  return value?.kind === 'text' ? value.text : undefined
}

function entriesIn(fields: Fields, name: string): readonly Value[] {
  const value = fields.byName.get(name)
  return value?.kind === 'list' ? value.items : []
}

function textsIn(fields: Fields, name: string): string[] {
  return entriesIn(fields, name).flatMap((value) => (value.kind === 'text' ? [value.text] : []))
}

function objectsOf(fields: Fields, name: string): Fields[] {
  return entriesIn(fields, name).flatMap((value) => (value.kind === 'fields' ? [value] : []))
}

/** Reads an object of any shape. */
function freeFormObject(fields: Fields, name: string): JsonObject | undefined {
  const value = fields.byName.get(name)
  return value?.kind === 'fields' ? (plainValue(value) as JsonObject) : undefined
}

function plainValue(value: Value): JsonValue {
  switch (value.kind) {
    case 'fields':
      return Object.fromEntries([...value.byName].map(([name, inner]) => [name, plainValue(inner)]))
    case 'list':
      return value.items.map(plainValue)
    case 'text':
      return value.text
    case 'number':
      return Number(value.text)
    case 'boolean':
      return value.text === 'true'
    case 'null':
      return null
  }
}
