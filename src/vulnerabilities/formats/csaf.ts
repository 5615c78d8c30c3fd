import type { AdvisoryRecord, EventRecord, Score } from '../advisory-record.ts'
import { type CsafProducts, csafProducts } from './csaf-products.ts'
import { dateOf, noteTaker, remarksIn } from './csaf-remarks.ts'
import { csafScores, distinctScores } from './cvss-scores.ts'
import type { DocumentGrowth } from './document-growth.ts'
import { eventType, type Happening, historyOf } from './event-history.ts'
import { emptyRecord, type FormatReader } from './format-reading.ts'
import { compareInstants, type Instant } from './instants.ts'
import { recordKey } from './record-key.ts'
import { type Fields, pathOf, problemWith } from './source-value.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  objectsIn,
  peek,
  requiredField,
  takeAnyway,
  takeInstant,
  takeName,
} from './value-fields.ts'
import { type NamedThing, thingColumns } from './vex-product.ts'
import { isJustification, type VexStatus, vexEvent } from './vex-status.ts'
import { isVulnerabilityId, takeVulnerabilityId } from './vulnerability-id.ts'

/** CSAF 2.0 documents about vulnerabilities: an advisory for each product, component of it, and vulnerability. */
export const readCsaf: FormatReader = (root, tally, growth) => {
  const facts = factsOf(root)
  const products = csafProducts(root)
  const found = new Map<string, Told>()
  for (const vulnerability of objectsIn(root, 'vulnerabilities')) {
    const ids = idsOf(vulnerability)
    const [id] = ids
    if (id === undefined) {
      tally.add(`${pathOf(vulnerability, 'alike')} (no id)`)
      continue
    }
    for (const status of statusesOf(vulnerability, products, facts, growth)) {
      const names = [facts.publisher, status.product.given, status.component.given, id]
      const key = recordKey('csaf', names.join('|'))
      const known = found.get(key)
      if (known === undefined) {
        growth.advisory(vulnerability)
        found.set(key, { ...status, aliases: new Set([ids]), source: vulnerability })
      } else {
        known.aliases.add(ids)
        known.happenings.push(...status.happenings)
        known.scores.push(...status.scores)
      }
    }
  }
  const advisories = [...found].map(
    ([key, { product, component, aliases, source, happenings, scores }]): AdvisoryRecord => ({
      ...emptyRecord,
      ...thingColumns(product, component),
      key,
      author: facts.author,
      aliases: growth.aliases([...aliases].flat(), source),
      events: historyOf(happenings, tally),
      severities: distinctScores(scores),
      createdMs: facts.firstReleased.ms,
      updatedMs: facts.released.ms,
    }),
  )
  return { id: `${facts.publisher}#${facts.id}`, revisionMs: facts.released.ms, advisories, scores: [] }
}

/** What holds for the whole document. */
interface Facts {
  readonly author: string
  readonly publisher: string
  readonly id: string
  readonly released: Instant
  readonly firstReleased: Instant
}

function factsOf(root: Fields): Facts {
  const document = fieldsOf(requiredField(root, 'document'))
  takeAnyway(field(document, 'category'))
  const version = requiredField(document, 'csaf_version')
  if (takeName(version) !== '2.0') {
    throw problemWith(
      version,
      `is ${JSON.stringify(takeName(version))}, another model than 2.0, which is the one that is read`,
    )
  }
  const publisher = fieldsOf(requiredField(document, 'publisher'))
  const tracking = fieldsOf(requiredField(document, 'tracking'))
  return {
    author: takeName(requiredField(publisher, 'name')),
    publisher: takeName(requiredField(publisher, 'namespace')),
    id: takeName(requiredField(tracking, 'id')),
    released: takeInstant(requiredField(tracking, 'current_release_date')),
    firstReleased: takeInstant(requiredField(tracking, 'initial_release_date')),
  }
}

/** The CVE id, if there is one, and then those ids of others that look like one: many are numbers of issues. */
function idsOf(vulnerability: Fields): string[] {
  const cve = field(vulnerability, 'cve')
  const others = objectsIn(vulnerability, 'ids').filter((other) => isVulnerabilityId(peek(other, 'text')))
  return [
    ...(cve === undefined ? [] : [takeVulnerabilityId(cve)]),
    ...others.map((other) => takeName(requiredField(other, 'text'))),
  ]
}

/** What is said of one product and component in one vulnerability. */
interface Status {
  readonly product: NamedThing
  readonly component: NamedThing
  readonly happenings: Happening[]
  readonly scores: Score[]
}

interface Told extends Status {
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
  growth: DocumentGrowth,
): Generator<Status> {
  const described = field(vulnerability, 'product_status')
  if (described === undefined) return
  const lists = fieldsOf(described)
  const eventsOf = eventsFor(vulnerability, products, released, growth)
  const scores = remarksIn(vulnerability, 'scores', products, growth, () => true)
  for (const [list, status] of statusLists) {
    for (const source of entriesOf(lists, list)) {
      const id = takeName(source)
      const { product, component } = products.resolve(id)
      const happenings: Happening[] = []
      for (const { at, type, noteChars } of eventsOf(status, id, product.version || component.version)) {
        growth.event(noteChars, source)
        happenings.push({ at, type, author, source })
      }
      yield { product, component, happenings, scores: scores(id).flatMap(csafScores) }
    }
  }
}

interface Event {
  readonly at: Instant
  readonly type: EventRecord['type']
  readonly noteChars: number
}

/** The events that a status of a product stands for, with what the other lists say of the product. */
function eventsFor(vulnerability: Fields, products: CsafProducts, released: Instant, growth: DocumentGrowth) {
  const remarks = (list: 'flags' | 'threats' | 'remediations', isMeant: (entry: Fields) => boolean) =>
    remarksIn(vulnerability, list, products, growth, isMeant)
  const category = (entry: Fields) => peek(entry, 'category')
  const justifications = remarks('flags', (flag) => isJustification(peek(flag, 'label')))
  const impacts = remarks('threats', (threat) => category(threat) === 'impact')
  const fixes = remarks('remediations', (remediation) => category(remediation) === 'vendor_fix')
  const actions = remarks('remediations', (remediation) => category(remediation) !== 'no_fix_planned')
  const refusals = remarks('remediations', (remediation) => category(remediation) === 'no_fix_planned')
  const noteOf = noteTaker()

  return (status: VexStatus, id: string, fixedVersion: string): Event[] => {
    const event = (at: Instant | undefined, note: string, justification = ''): Event => ({
      at: at ?? released,
      type: vexEvent(status, { justification, note, fixedVersion }),
      noteChars: note.length,
    })
    switch (status) {
      case 'under_investigation':
        return [event(undefined, '')]
      case 'fixed': {
        const said = fixes(id)
        return [event(dateOf(said), noteOf(said))]
      }
      case 'not_affected': {
        const flags = justifications(id)
        const said = impacts(id)
        const label = flags[0] === undefined ? '' : takeName(requiredField(flags[0], 'label'))
        return [event(dateOf(flags) ?? dateOf(said), noteOf(said), label)]
      }
      case 'affected': {
        const affected = event(undefined, noteOf(actions(id)))
        const said = refusals(id)
        if (said.length === 0) return [affected]
        const note = noteOf(said)
        const type = eventType({ case: 'fixNotPlanned', value: { note } })
        const refused = dateOf(said) ?? released
        // Nobody refuses to fix what is not affected yet: the refusal counts, whenever it was written down.
        const at = compareInstants(refused, affected.at) < 0 ? affected.at : refused
        return [affected, { at, type, noteChars: note.length }]
      }
    }
  }
}
