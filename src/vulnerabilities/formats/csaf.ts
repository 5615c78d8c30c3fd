import type { AdvisoryRecord, EventRecord, Score } from '../advisory-record.ts'
import { type CsafProducts, csafProducts } from './csaf-products.ts'
import { dateOf, noteTaker, remarksIn } from './csaf-remarks.ts'
import { csafScores, distinctScores } from './cvss-scores.ts'
import { eventType, type Happening, historyOf } from './event-history.ts'
import { type EventSpread, eventSpread } from './event-spread.ts'
import { checkCount, distinctAliases, emptyRecord, type FormatReader } from './format-reading.ts'
import type { Instant } from './instants.ts'
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
export const readCsaf: FormatReader = (root, tally) => {
  const facts = factsOf(root)
  const products = csafProducts(root)
  const spread = eventSpread()
  const found = new Map<string, Told>()
  for (const vulnerability of objectsIn(root, 'vulnerabilities')) {
    const ids = idsOf(vulnerability)
    const [id] = ids
    if (id === undefined) {
      tally.add(`${pathOf(vulnerability, 'alike')} (no id)`)
      continue
    }
    for (const status of statusesOf(vulnerability, products, facts.released, spread)) {
      const key = recordKey(
        'csaf',
        [facts.publisher, status.product.given, status.component.given, id].join('|'),
      )
      const known = found.get(key) ?? {
        ...status,
        aliases: ids,
        source: vulnerability,
        happenings: [],
        scores: [],
      }
      known.happenings.push(...status.happenings)
      known.scores.push(...status.scores)
      found.set(key, known)
      checkCount(found.size, vulnerability)
    }
  }
  const advisories = [...found].map(
    ([key, told]): AdvisoryRecord => ({
      ...emptyRecord,
      ...thingColumns(told.product, told.component),
      key,
      author: facts.author,
      aliases: distinctAliases(told.aliases, told.source),
      events: historyOf(
        told.happenings.map((happening) => ({ ...happening, author: facts.author })),
        tally,
      ),
      severities: distinctScores(told.scores),
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
  readonly aliases: readonly string[]
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
  released: Instant,
  spread: EventSpread,
): Generator<Status> {
  const described = field(vulnerability, 'product_status')
  if (described === undefined) return
  const lists = fieldsOf(described)
  const eventsOf = eventsFor(vulnerability, products, released, spread)
  const scores = remarksIn(vulnerability, 'scores', products, spread, () => true)
  for (const [list, status] of statusLists) {
    for (const reference of entriesOf(lists, list)) {
      const id = takeName(reference)
      const { product, component } = products.resolve(id)
      const happenings = eventsOf(status, id, product.version || component.version).map(
        ({ at, type, noteChars }) => {
          spread(noteChars, reference)
          return { at, type, author: '', source: reference }
        },
      )
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
function eventsFor(vulnerability: Fields, products: CsafProducts, released: Instant, spread: EventSpread) {
  const remarks = (list: 'flags' | 'threats' | 'remediations', isMeant: (entry: Fields) => boolean) =>
    remarksIn(vulnerability, list, products, spread, isMeant)
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
        return [affected, { at: dateOf(said) ?? released, type, noteChars: note.length }]
      }
    }
  }
}
