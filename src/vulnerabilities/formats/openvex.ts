import type { AdvisoryRecord, EventRecord } from '../advisory-record.ts'
import type { DocumentGrowth } from './document-growth.ts'
import { type Happening, historyOf } from './event-history.ts'
import { emptyRecord, type FormatReader } from './format-reading.ts'
import { compareInstants, type Instant } from './instants.ts'
import { recordKey } from './record-key.ts'
import { type Fields, pathOf, problemWith, type Value } from './source-value.ts'
import { type UnmappedTally, unknownValue } from './unmapped.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  objectsIn,
  optionalInstant,
  optionalName,
  optionalNote,
  peek,
  requiredField,
  takeAnyway,
  takeName,
} from './value-fields.ts'
import { type NamedThing, NOTHING, namedThing, thingColumns } from './vex-product.ts'
import { isJustification, isVexStatus, type VexStatus, vexEvent } from './vex-status.ts'
import { takeAlias } from './vulnerability-id.ts'

/**
 * OpenVEX documents of both generations, which differ in whether vulnerabilities and products are texts or objects. What the
 * statements say of one product, subcomponent and vulnerability is the history of one advisory.
 */
export const readOpenvex: FormatReader = (root, tally, growth) => {
  takeAnyway(field(root, '@context'))
  const updated = optionalInstant(root, 'last_updated')
  const made = optionalInstant(root, 'timestamp')
  const author = optionalName(root, 'author')
  requiredField(root, 'statements')
  const found = new Map<string, Saying[]>()
  for (const statement of objectsIn(root, 'statements')) {
    for (const saying of sayingsOf(statement, made ?? updated, author, tally, growth)) {
      const key = recordKey(
        'openvex',
        `${saying.product.given}|${saying.component.given}|${saying.vulnerability}`,
      )
      const known = found.get(key)
      if (known !== undefined) {
        known.push(saying)
        continue
      }
      growth.advisory(statement)
      found.set(key, [saying])
    }
  }
  const advisories = [...found].map(([key, sayings]) => recordOf(key, sayings, author, tally, growth))
  return { id: optionalName(root, '@id'), revisionMs: (updated ?? made)?.ms, advisories, scores: [] }
}

/** What one statement says of one product. */
interface Saying {
  readonly vulnerability: string
  readonly aliases: readonly string[]
  readonly product: NamedThing
  readonly component: NamedThing
  readonly happening: Happening
  readonly updated: Instant
}

function* sayingsOf(
  statement: Fields,
  made: Instant | undefined,
  author: string,
  tally: UnmappedTally,
  growth: DocumentGrowth,
): Generator<Saying> {
  const path = pathOf(statement, 'alike')
  const status = takeName(requiredField(statement, 'status'))
  if (!isVexStatus(status)) {
    tally.add(unknownValue(`${path}.status`, status))
    return
  }
  const things = thingsOf(statement)
  if (things.length === 0) {
    tally.add(`${path} (no product)`)
    return
  }
  const at = optionalInstant(statement, 'timestamp') ?? made
  if (at === undefined) throw problemWith(statement, 'lacks a timestamp, and so does the document')
  const lastUpdated = optionalInstant(statement, 'last_updated') ?? at
  const { vulnerability, aliases } = vulnerabilityOf(statement)
  const saidOf = typesOf(statement, status, tally)
  for (const { product, components } of things) {
    const type = saidOf.type(product)
    for (const component of components.length === 0 ? [NOTHING] : components) {
      growth.event(saidOf.noteChars, statement)
      const happening = { at, type, author, source: statement }
      const updated = compareInstants(lastUpdated, at) > 0 ? lastUpdated : at
      yield { vulnerability, aliases, product, component, happening, updated }
    }
  }
}

function vulnerabilityOf(statement: Fields): { vulnerability: string; aliases: string[] } {
  const value = requiredField(statement, 'vulnerability')
  if (value.kind === 'text') {
    const id = takeAlias(value)
    return { vulnerability: id, aliases: [id] }
  }
  const fields = fieldsOf(value)
  const id = takeAlias(requiredField(fields, 'name'))
  return { vulnerability: id, aliases: [id, ...entriesOf(fields, 'aliases').map(takeAlias)] }
}

/** What the statement is as an event, which depends on the product in its version only. */
function typesOf(
  statement: Fields,
  status: VexStatus,
  tally: UnmappedTally,
): { type: (product: NamedThing) => EventRecord['type']; noteChars: number } {
  const justification = status === 'not_affected' ? optionalName(statement, 'justification') : ''
  if (justification !== '' && !isJustification(justification)) {
    tally.add(unknownValue(`${pathOf(statement, 'alike')}.justification`, justification))
  }
  let note = ''
  for (const name of noteFields[status]) note ||= optionalNote(statement, name)
  return {
    type: (product) => vexEvent(status, { justification, note, fixedVersion: product.version }),
    noteChars: note.length,
  }
}

/** The first that says something becomes the note. */
const noteFields: Readonly<Record<VexStatus, readonly string[]>> = {
  under_investigation: [],
  affected: ['action_statement', 'status_notes'],
  fixed: ['status_notes'],
  not_affected: ['impact_statement', 'status_notes'],
}

/** Each product with its subcomponents; the first generation has these beside the products. */
function thingsOf(statement: Fields): { product: NamedThing; components: readonly NamedThing[] }[] {
  const shared = thingsIn(statement, 'subcomponents')
  return entriesOf(statement, 'products').flatMap((value) => {
    const product = thingOf(value)
    if (product === undefined) return []
    const own = value.kind === 'fields' ? thingsIn(value, 'subcomponents') : []
    return [{ product, components: own.length === 0 ? shared : [...shared, ...own] }]
  })
}

function thingsIn(fields: Fields, name: string): NamedThing[] {
  return entriesOf(fields, name)
    .map(thingOf)
    .filter((thing) => thing !== undefined)
}

/** Undefined for what is told by its hashes only. */
function thingOf(value: Value): NamedThing | undefined {
  if (value.kind === 'text') {
    const given = takeName(value)
    return namedThing(given, given, '')
  }
  const fields = fieldsOf(value)
  const described = field(fields, 'identifiers')
  const identifiers = described === undefined ? undefined : fieldsOf(described)
  const names = [
    field(fields, '@id'),
    ...['purl', 'cpe23', 'cpe22'].map((name) => identifiers && field(identifiers, name)),
  ].filter((name) => name !== undefined)
  const [first, ...others] = names
  if (first === undefined) return undefined
  const given = takeName(first)
  for (const other of others) if (other.kind === 'text' && other.text === given) takeAnyway(other)
  return namedThing(given, given.startsWith('pkg:') ? given : peek(identifiers, 'purl'), '')
}

function recordOf(
  key: string,
  sayings: readonly Saying[],
  author: string,
  tally: UnmappedTally,
  growth: DocumentGrowth,
): AdvisoryRecord {
  const [{ product, component, happening }] = sayings as [Saying]
  const updated = sayings
    .map((saying) => saying.updated)
    .reduce((a, b) => (compareInstants(a, b) > 0 ? a : b))
  const events = historyOf(
    sayings.map((saying) => saying.happening),
    tally,
  )
  return {
    ...emptyRecord,
    ...thingColumns(product, component),
    key,
    author,
    aliases: growth.aliases(
      // One list for all that one statement says.
      [...new Set(sayings.map(({ aliases }) => aliases))].flat(),
      happening.source,
    ),
    events,
    createdMs: events[0]?.timeMs,
    updatedMs: updated.ms,
  }
}
