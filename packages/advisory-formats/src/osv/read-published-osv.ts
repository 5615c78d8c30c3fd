import { AdvisoryEventSchema } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { fromJson, type JsonValue } from '@bufbuild/protobuf'
import type { AdvisoryRecord } from '../advisory-record.ts'
import { osvScores } from '../reading/cvss-scores.ts'
import type { DocumentBudget } from '../reading/document-budget.ts'
import { buildHistory, type SourceEvent } from '../reading/event-history.ts'
import { emptyRecord } from '../reading/format-reader.ts'
import { recordKey } from '../reading/record-key.ts'
import type { UnmappedTally } from '../reading/unmapped-fields.ts'
import { isPlatformId, readAlias } from '../reading/vulnerability-id.ts'
import { DocumentProblem, type Fields, problemWith, type Value } from '../syntax/source-value.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  markRead,
  objectsIn,
  optionalInstant,
  optionalName,
  peek,
  readInstant,
  readName,
  readNote,
  requireField,
} from '../syntax/value-fields.ts'
import { createOsvExtensionWriter, type ExtensionEntry } from './read-osv-extension.ts'

/**
 * Reads OSV records that a Berth server published. Their `affected` entries have the complete advisory in `database_specific`
 * (write-osv.ts), with more detail than OSV fields can express. Returns undefined for all other records.
 */
export function readPublishedRecords(
  root: Fields,
  id: string,
  tally: UnmappedTally,
  budget: DocumentBudget,
): AdvisoryRecord[] | undefined {
  const affected = publishedEntriesIn(root, id)
  if (affected === undefined) return undefined
  for (const name of ['summary', 'schema_version']) markRead(field(root, name))
  for (const time of ['published', 'modified', 'withdrawn']) markRead(field(root, time))
  for (const alias of entriesOf(root, 'aliases')) markRead(alias)
  const keys = new Set<string>()
  const writeExtension = createOsvExtensionWriter(root, affected.length)
  return affected.map(({ advisory, entries }, at) => {
    const [{ entry }] = entries
    const record = recordOf(root, entry, advisory, { id, tally, budget })
    for (const more of entries) markRepeated(more.entry)
    const plain = `${id}#${record.artifactType}/${record.artifactName}`
    const key = recordKey('osv', keys.has(plain) ? `${plain}#${at}` : plain)
    keys.add(plain)
    return { ...record, key, osv: writeExtension(entries) }
  })
}

interface PublishedEntry {
  readonly advisory: Fields
  entries: [ExtensionEntry, ...ExtensionEntry[]]
}

/** Groups the `affected` entries by advisory: further entries of a package follow its first one. */
function publishedEntriesIn(root: Fields, id: string): PublishedEntry[] | undefined {
  if (!isPlatformId(id)) return undefined
  const found: PublishedEntry[] = []
  for (const entry of objectsIn(root, 'affected')) {
    const advisory = advisoryIn(entry)
    const extensionEntry = { entry, ranges: objectsIn(entry, 'ranges') }
    if (advisory === undefined) {
      const last = found.at(-1)
      if (last === undefined) return undefined
      last.entries.push(extensionEntry)
    } else {
      if (peek(advisory, 'advisoryId') !== id) return undefined
      found.push({ advisory, entries: [extensionEntry] })
    }
  }
  return found.length === 0 ? undefined : found
}

function advisoryIn(entry: Fields): Fields | undefined {
  const specific = field(entry, 'database_specific')
  const advisory = specific?.kind === 'fields' ? field(specific, 'advisory') : undefined
  return advisory?.kind === 'fields' ? advisory : undefined
}

function recordOf(
  root: Fields,
  entry: Fields,
  advisory: Fields,
  {
    id,
    tally,
    budget,
  }: { readonly id: string; readonly tally: UnmappedTally; readonly budget: DocumentBudget },
): Omit<AdvisoryRecord, 'key'> {
  budget.advisory(entry)
  markRead(field(advisory, 'advisoryId'))
  const specific = fieldsOf(requireField(entry, 'database_specific'))
  const scores = osvScores(root)
  const name = (of: string) => optionalName(advisory, of)
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
    aliases: budget.aliases(entriesOf(advisory, 'aliases').map(readAlias), advisory),
    events: buildHistory(objectsIn(advisory, 'events').map(sourceEventOf), tally),
    severities: scores.length > 0 ? scores : osvScores(entry),
    createdMs: optionalInstant(advisory, 'createTime')?.ms,
    updatedMs: optionalInstant(advisory, 'updateTime')?.ms,
    withdrawnMs: optionalInstant(advisory, 'deleteTime')?.ms,
  }
}

/** Marks the fields that the advisory repeats as read. */
function markRepeated(entry: Fields): void {
  const described = field(entry, 'package')
  if (described?.kind === 'fields')
    for (const name of ['ecosystem', 'name', 'purl']) markRead(field(described, name))
  for (const range of objectsIn(entry, 'ranges')) {
    for (const name of ['type', 'repo']) markRead(field(range, name))
    for (const event of objectsIn(range, 'events'))
      for (const name of ['introduced', 'fixed']) markRead(field(event, name))
  }
}

function sourceEventOf(fields: Fields): SourceEvent {
  const author = optionalName(fields, 'author')
  const issue = field(fields, 'issue')
  const at = readInstant(requireField(fields, 'createTime'))
  try {
    const { type } = fromJson(AdvisoryEventSchema, readJson(fields))
    if (type.case === undefined) throw new Error('it has no type')
    return { at, type, author, ...(issue !== undefined && { issue: readName(issue) }), source: fields }
  } catch (error) {
    if (!(error instanceof Error) || error instanceof DocumentProblem) throw error
    throw problemWith(fields, `is not an event in the JSON of the API: ${error.message}`)
  }
}

/** Returns a value as JSON and marks everything in it as read. */
function readJson(value: Value): JsonValue {
  switch (value.kind) {
    case 'fields':
      return Object.fromEntries([...value.byName].map(([name, inner]) => [name, readJson(inner)]))
    case 'list':
      return value.items.map(readJson)
    case 'null':
      return null
    default:
      return readNote(value)
  }
}
