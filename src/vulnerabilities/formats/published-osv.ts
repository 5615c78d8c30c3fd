import { fromJson, type JsonValue } from '@bufbuild/protobuf'
import { AdvisoryEventSchema } from '#gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { AdvisoryRecord } from '../advisory-record.ts'
import { osvScores } from './cvss-scores.ts'
import type { DocumentGrowth } from './document-growth.ts'
import { type Happening, historyOf } from './event-history.ts'
import { emptyRecord } from './format-reading.ts'
import { type CarriedEntry, osvCarrier } from './osv-carried.ts'
import { recordKey } from './record-key.ts'
import { DocumentProblem, type Fields, problemWith, type Value } from './source-value.ts'
import type { UnmappedTally } from './unmapped.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  objectsIn,
  optionalInstant,
  optionalName,
  peek,
  requiredField,
  takeAnyway,
  takeInstant,
  takeName,
  takeNote,
} from './value-fields.ts'
import { isPlatformId, takeAlias } from './vulnerability-id.ts'

/**
 * OSV records that a platform like this one published: what is affected has the whole advisory in its `database_specific`
 * (publish/osv.ts), which says more than the fields of OSV do. Undefined for all others.
 */
export function publishedRecords(
  root: Fields,
  id: string,
  tally: UnmappedTally,
  growth: DocumentGrowth,
): AdvisoryRecord[] | undefined {
  const affected = publishedIn(root, id)
  if (affected === undefined) return undefined
  for (const name of ['summary', 'schema_version']) takeAnyway(field(root, name))
  for (const time of ['published', 'modified', 'withdrawn']) takeAnyway(field(root, time))
  for (const alias of entriesOf(root, 'aliases')) takeAnyway(alias)
  const keys = new Set<string>()
  const carried = osvCarrier(root, affected.length)
  return affected.map(({ words, entries }, at) => {
    const [{ entry }] = entries
    const record = recordOf(root, entry, words, { id, tally, growth })
    for (const more of entries) takeRepeated(more.entry)
    const plain = `${id}#${record.artifactType}/${record.artifactName}`
    const key = recordKey('osv', keys.has(plain) ? `${plain}#${at}` : plain)
    keys.add(plain)
    return { ...record, key, osv: carried(entries) }
  })
}

interface Published {
  readonly words: Fields
  entries: [CarriedEntry, ...CarriedEntry[]]
}

/** What is affected, by advisory. What a package has beside its first entry follows that. */
function publishedIn(root: Fields, id: string): Published[] | undefined {
  if (!isPlatformId(id)) return undefined
  const found: Published[] = []
  for (const entry of objectsIn(root, 'affected')) {
    const words = wordsIn(entry)
    const carried = { entry, ranges: objectsIn(entry, 'ranges') }
    if (words === undefined) {
      const last = found.at(-1)
      if (last === undefined) return undefined
      last.entries.push(carried)
    } else {
      if (peek(words, 'advisoryId') !== id) return undefined
      found.push({ words, entries: [carried] })
    }
  }
  return found.length === 0 ? undefined : found
}

function wordsIn(entry: Fields): Fields | undefined {
  const specific = field(entry, 'database_specific')
  const words = specific?.kind === 'fields' ? field(specific, 'advisory') : undefined
  return words?.kind === 'fields' ? words : undefined
}

function recordOf(
  root: Fields,
  entry: Fields,
  words: Fields,
  {
    id,
    tally,
    growth,
  }: { readonly id: string; readonly tally: UnmappedTally; readonly growth: DocumentGrowth },
): Omit<AdvisoryRecord, 'key'> {
  growth.advisory(entry)
  takeAnyway(field(words, 'advisoryId'))
  const specific = fieldsOf(requiredField(entry, 'database_specific'))
  const scores = osvScores(root)
  const name = (of: string) => optionalName(words, of)
  return {
    ...emptyRecord,
    advisoryId: id,
    legacyAdvisoryId: name('legacyAdvisoryId'),
    author: name('author'),
    artifactName: name('artifactName'),
    artifactType: name('artifactType'),
    artifactArchitecture: name('artifactArchitecture'),
    componentName: name('componentName'),
    componentLocation: name('componentLocation'),
    componentType: name('componentType'),
    origin: optionalName(specific, 'origin'),
    product: optionalName(specific, 'product'),
    componentProduct: optionalName(specific, 'componentProduct'),
    aliases: growth.aliases(entriesOf(words, 'aliases').map(takeAlias), words),
    events: historyOf(objectsIn(words, 'events').map(happeningOf), tally),
    severities: scores.length > 0 ? scores : osvScores(entry),
    createdMs: optionalInstant(words, 'createTime')?.ms,
    updatedMs: optionalInstant(words, 'updateTime')?.ms,
    withdrawnMs: optionalInstant(words, 'deleteTime')?.ms,
  }
}

/** Marks what the advisory says again. */
function takeRepeated(entry: Fields): void {
  const described = field(entry, 'package')
  if (described?.kind === 'fields')
    for (const name of ['ecosystem', 'name', 'purl']) takeAnyway(field(described, name))
  for (const range of objectsIn(entry, 'ranges')) {
    for (const name of ['type', 'repo']) takeAnyway(field(range, name))
    for (const event of objectsIn(range, 'events'))
      for (const name of ['introduced', 'fixed']) takeAnyway(field(event, name))
  }
}

function happeningOf(fields: Fields): Happening {
  const author = optionalName(fields, 'author')
  const issue = field(fields, 'issue')
  const at = takeInstant(requiredField(fields, 'createTime'))
  try {
    const { type } = fromJson(AdvisoryEventSchema, jsonOf(fields))
    if (type.case === undefined) throw new Error('it lacks its type')
    return { at, type, author, ...(issue !== undefined && { issue: takeName(issue) }), source: fields }
  } catch (error) {
    if (!(error instanceof Error) || error instanceof DocumentProblem) throw error
    throw problemWith(fields, `is no event as the API shows it: ${error.message}`)
  }
}

/** Everything in it, as taken. */
function jsonOf(value: Value): JsonValue {
  switch (value.kind) {
    case 'fields':
      return Object.fromEntries([...value.byName].map(([name, inner]) => [name, jsonOf(inner)]))
    case 'list':
      return value.items.map(jsonOf)
    case 'null':
      return null
    default:
      return takeNote(value)
  }
}
