import type { AdvisoryRecord, EventRecord, Score, ScoreRecord } from '../advisory-record.ts'
import { csafScores, distinctScores } from '../reading/cvss-scores.ts'
import { cweIn, distinctCwes } from '../reading/cwe-ids.ts'
import type { DocumentBudget } from '../reading/document-budget.ts'
import { buildHistory, createEventType, type SourceEvent } from '../reading/event-history.ts'
import { emptyRecord, type FormatReader } from '../reading/format-reader.ts'
import { compareInstants, type Instant } from '../reading/instants.ts'
import { recordKey } from '../reading/record-key.ts'
import { isVulnerabilityId, readVulnerabilityId } from '../reading/vulnerability-id.ts'
import { noTexts, toTexts, type VulnerabilityTexts } from '../reading/vulnerability-records.ts'
import { type Fields, pathOf, problemWith } from '../syntax/source-value.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  markRead,
  objectsIn,
  peek,
  readInstant,
  readName,
  requireField,
} from '../syntax/value-fields.ts'
import { productColumns, type VexProduct } from '../vex/vex-product.ts'
import { isJustification, type VexStatus, vexEventType } from '../vex/vex-status.ts'
import { annotationsIn, createNoteJoiner, latestDate } from './csaf-annotations.ts'
import { type CsafProducts, readCsafProducts } from './csaf-products.ts'

/** Reads CSAF 2.0 documents about vulnerabilities: an advisory for each product, component of it, and vulnerability. */
export const readCsaf: FormatReader = (root, tally, budget) => {
  const facts = factsOf(root)
  const products = readCsafProducts(root)
  const found = new Map<string, ProductAdvisory>()
  const cwesById = new Map<string, Set<string>>()
  const texts = new Map<string, VulnerabilityTexts>()
  for (const vulnerability of objectsIn(root, 'vulnerabilities')) {
    const ids = idsOf(vulnerability)
    const [id] = ids
    if (id === undefined) {
      tally.add(`${pathOf(vulnerability, 'alike')} (no id)`)
      continue
    }
    // A document may have several entries about a vulnerability, with different products.
    if (!texts.has(id)) texts.set(id, textsIn(vulnerability))
    for (const cwe of cwesOf(vulnerability))
      for (const alias of ids) {
        const known = cwesById.get(alias)
        if (known !== undefined) known.add(cwe)
        else {
          budget.scores(1, vulnerability)
          cwesById.set(alias, new Set([cwe]))
        }
      }
    for (const status of statusesOf(vulnerability, products, facts, budget)) {
      const names = [facts.publisher, status.product.identifier, status.component.identifier, id]
      const key = recordKey('csaf', names.join('|'))
      const known = found.get(key)
      if (known === undefined) {
        budget.advisory(vulnerability)
        found.set(key, { ...status, aliases: new Set([ids]), source: vulnerability })
      } else {
        known.aliases.add(ids)
        known.sourceEvents.push(...status.sourceEvents)
        known.scores.push(...status.scores)
      }
    }
  }
  const advisories = [...found].map(
    ([key, { product, component, aliases, source, sourceEvents: happenings, scores }]): AdvisoryRecord => ({
      ...emptyRecord,
      ...productColumns(product, component),
      key,
      author: facts.author,
      aliases: budget.aliases([...aliases].flat(), source),
      events: buildHistory(happenings, tally),
      severities: distinctScores(scores),
      createdMs: facts.firstReleased.ms,
      updatedMs: facts.released.ms,
    }),
  )
  return {
    id: `${facts.publisher}#${facts.id}`,
    revisionMs: facts.released.ms,
    advisories,
    scores: [...cwesById].map(
      ([alias, cwes]): ScoreRecord => ({ alias, component: '', severities: [], cwes: distinctCwes(cwes) }),
    ),
    textsOf: (id) => texts.get(id) ?? noTexts(id),
  }
}

/** Facts that apply to the whole document. */
interface Facts {
  readonly author: string
  readonly publisher: string
  readonly id: string
  readonly released: Instant
  readonly firstReleased: Instant
}

function factsOf(root: Fields): Facts {
  const document = fieldsOf(requireField(root, 'document'))
  markRead(field(document, 'category'))
  const version = requireField(document, 'csaf_version')
  if (readName(version) !== '2.0') {
    throw problemWith(version, `is ${JSON.stringify(readName(version))}: only version 2.0 is supported`)
  }
  const publisher = fieldsOf(requireField(document, 'publisher'))
  const tracking = fieldsOf(requireField(document, 'tracking'))
  return {
    author: readName(requireField(publisher, 'name')),
    publisher: readName(requireField(publisher, 'namespace')),
    id: readName(requireField(tracking, 'id')),
    released: readInstant(requireField(tracking, 'current_release_date')),
    firstReleased: readInstant(requireField(tracking, 'initial_release_date')),
  }
}

/** Returns the CVE id, if any, then other ids that look like vulnerability ids. Many others are issue numbers. */
function idsOf(vulnerability: Fields): string[] {
  const cve = field(vulnerability, 'cve')
  const others = objectsIn(vulnerability, 'ids').filter((other) => isVulnerabilityId(peek(other, 'text')))
  return [
    ...(cve === undefined ? [] : [readVulnerabilityId(cve)]),
    ...others.map((other) => readName(requireField(other, 'text'))),
  ]
}

/** Not marked as read: the texts are for searches only. */
function textsIn(vulnerability: Fields): VulnerabilityTexts {
  const notes = field(vulnerability, 'notes')
  const entries = notes?.kind === 'list' ? notes.items : []
  const details = entries.map((note) => (note.kind === 'fields' ? peek(note, 'text') : ''))
  return toTexts(peek(vulnerability, 'title'), details)
}

/** A vulnerability has one weakness in version 2.0. */
function cwesOf(vulnerability: Fields): string[] {
  const cwe = field(vulnerability, 'cwe')
  if (cwe?.kind !== 'fields') return []
  markRead(field(cwe, 'name'))
  return cweIn(field(cwe, 'id'))
}

/** Statements about one product and component in one vulnerability. */
interface ProductStatus {
  readonly product: VexProduct
  readonly component: VexProduct
  readonly sourceEvents: SourceEvent[]
  readonly scores: Score[]
}

interface ProductAdvisory extends ProductStatus {
  readonly aliases: Set<readonly string[]>
  readonly source: Fields
}

const statusLists: readonly (readonly [list: string, status: VexStatus])[] = [
  ['under_investigation', 'under_investigation'],
  ['known_affected', 'affected'],
  ['known_not_affected', 'not_affected'],
  ['fixed', 'fixed'],
  ['first_fixed', 'fixed'],
]

function* statusesOf(
  vulnerability: Fields,
  products: CsafProducts,
  { author, released }: Facts,
  budget: DocumentBudget,
): Generator<ProductStatus> {
  const described = field(vulnerability, 'product_status')
  if (described === undefined) return
  const lists = fieldsOf(described)
  const eventsOf = eventsFor(vulnerability, products, released, budget)
  const scores = annotationsIn(vulnerability, 'scores', products, budget, () => true)
  for (const [list, status] of statusLists) {
    for (const source of entriesOf(lists, list)) {
      const id = readName(source)
      const { product, component } = products.resolve(id)
      const sourceEvents: SourceEvent[] = []
      for (const { at, type, noteChars } of eventsOf(status, id, product.version || component.version)) {
        budget.event(noteChars, source)
        sourceEvents.push({ at, type, author, source })
      }
      yield { product, component, sourceEvents, scores: scores(id).flatMap(csafScores) }
    }
  }
}

interface Event {
  readonly at: Instant
  readonly type: EventRecord['type']
  readonly noteChars: number
}

/** Returns the events that the status of a product maps to, with the annotations of the product. */
function eventsFor(vulnerability: Fields, products: CsafProducts, released: Instant, budget: DocumentBudget) {
  const annotations = (list: 'flags' | 'threats' | 'remediations', isRelevant: (entry: Fields) => boolean) =>
    annotationsIn(vulnerability, list, products, budget, isRelevant)
  const category = (entry: Fields) => peek(entry, 'category')
  const justifications = annotations('flags', (flag) => isJustification(peek(flag, 'label')))
  const impacts = annotations('threats', (threat) => category(threat) === 'impact')
  const fixes = annotations('remediations', (remediation) => category(remediation) === 'vendor_fix')
  const actions = annotations('remediations', (remediation) => category(remediation) !== 'no_fix_planned')
  const declinedFixes = annotations(
    'remediations',
    (remediation) => category(remediation) === 'no_fix_planned',
  )
  const noteOf = createNoteJoiner()

  return (status: VexStatus, id: string, fixedVersion: string): Event[] => {
    const event = (at: Instant | undefined, note: string, justification = ''): Event => ({
      at: at ?? released,
      type: vexEventType(status, { justification, note, fixedVersion }),
      noteChars: note.length,
    })
    switch (status) {
      case 'under_investigation':
        return [event(undefined, '')]
      case 'fixed': {
        const matching = fixes(id)
        return [event(latestDate(matching), noteOf(matching))]
      }
      case 'not_affected': {
        const flags = justifications(id)
        const matching = impacts(id)
        const label = flags[0] === undefined ? '' : readName(requireField(flags[0], 'label'))
        return [event(latestDate(flags) ?? latestDate(matching), noteOf(matching), label)]
      }
      case 'affected': {
        const affected = event(undefined, noteOf(actions(id)))
        const matching = declinedFixes(id)
        if (matching.length === 0) return [affected]
        const note = noteOf(matching)
        const type = createEventType({ case: 'fixNotPlanned', value: { note } })
        const declinedAt = latestDate(matching) ?? released
        // A product can be declined a fix only once it is affected, whatever the date of the statement.
        const at = compareInstants(declinedAt, affected.at) < 0 ? affected.at : declinedAt
        return [affected, { at, type, noteChars: note.length }]
      }
    }
  }
}
