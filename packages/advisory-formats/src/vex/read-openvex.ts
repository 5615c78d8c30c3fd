import type { AdvisoryRecord, EventRecord } from '../advisory-record.ts'
import type { DocumentBudget } from '../reading/document-budget.ts'
import { buildHistory, type SourceEvent } from '../reading/event-history.ts'
import { emptyRecord, type FormatReader } from '../reading/format-reader.ts'
import { compareInstants, type Instant } from '../reading/instants.ts'
import { recordKey } from '../reading/record-key.ts'
import { type UnmappedTally, unknownValue } from '../reading/unmapped-fields.ts'
import { readAlias } from '../reading/vulnerability-id.ts'
import { type Fields, pathOf, problemWith, type Value } from '../syntax/source-value.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  markRead,
  objectsIn,
  optionalInstant,
  optionalName,
  optionalNote,
  peek,
  readName,
  requireField,
} from '../syntax/value-fields.ts'
import { NO_PRODUCT, productColumns, toVexProduct, type VexProduct } from './vex-product.ts'
import { isJustification, isVexStatus, type VexStatus, vexEventType } from './vex-status.ts'

/**
 * Reads OpenVEX documents of both generations: vulnerabilities and products are texts in one and objects in the other. The statements
 * about one product, subcomponent and vulnerability become the history of one advisory.
 */
export const readOpenvex: FormatReader = (root, tally, budget) => {
  markRead(field(root, '@context'))
  const updated = optionalInstant(root, 'last_updated')
  const createdAt = optionalInstant(root, 'timestamp')
  const author = optionalName(root, 'author')
  requireField(root, 'statements')
  const found = new Map<string, ProductStatement[]>()
  for (const statement of objectsIn(root, 'statements')) {
    for (const productStatement of productStatementsOf(
      statement,
      createdAt ?? updated,
      author,
      tally,
      budget,
    )) {
      const key = recordKey(
        'openvex',
        `${productStatement.product.identifier}|${productStatement.component.identifier}|${productStatement.vulnerability}`,
      )
      const known = found.get(key)
      if (known !== undefined) {
        known.push(productStatement)
        continue
      }
      budget.advisory(statement)
      found.set(key, [productStatement])
    }
  }
  const advisories = [...found].map(([key, productStatements]) =>
    recordOf(key, productStatements, author, tally, budget),
  )
  return { id: optionalName(root, '@id'), revisionMs: (updated ?? createdAt)?.ms, advisories, scores: [] }
}

/** What one statement says about one product. */
interface ProductStatement {
  readonly vulnerability: string
  readonly aliases: readonly string[]
  readonly product: VexProduct
  readonly component: VexProduct
  readonly sourceEvent: SourceEvent
  readonly updated: Instant
}

function* productStatementsOf(
  statement: Fields,
  createdAt: Instant | undefined,
  author: string,
  tally: UnmappedTally,
  budget: DocumentBudget,
): Generator<ProductStatement> {
  const path = pathOf(statement, 'alike')
  const status = readName(requireField(statement, 'status'))
  if (!isVexStatus(status)) {
    tally.add(unknownValue(`${path}.status`, status))
    return
  }
  const products = productsOf(statement)
  if (products.length === 0) {
    tally.add(`${path} (no product)`)
    return
  }
  const at = optionalInstant(statement, 'timestamp') ?? createdAt
  if (at === undefined) throw problemWith(statement, 'lacks a timestamp, and the document has none')
  const lastUpdated = optionalInstant(statement, 'last_updated') ?? at
  const { vulnerability, aliases } = vulnerabilityOf(statement)
  const eventTypes = eventTypesOf(statement, status, tally)
  for (const { product, components } of products) {
    const type = eventTypes.type(product)
    for (const component of components.length === 0 ? [NO_PRODUCT] : components) {
      budget.event(eventTypes.noteChars, statement)
      const sourceEvent = { at, type, author, source: statement }
      const updated = compareInstants(lastUpdated, at) > 0 ? lastUpdated : at
      yield { vulnerability, aliases, product, component, sourceEvent, updated }
    }
  }
}

function vulnerabilityOf(statement: Fields): { vulnerability: string; aliases: string[] } {
  const value = requireField(statement, 'vulnerability')
  if (value.kind === 'text') {
    const id = readAlias(value)
    return { vulnerability: id, aliases: [id] }
  }
  const fields = fieldsOf(value)
  const id = readAlias(requireField(fields, 'name'))
  return { vulnerability: id, aliases: [id, ...entriesOf(fields, 'aliases').map(readAlias)] }
}

/** Maps a statement to an event type, which depends on the product only in its version. */
function eventTypesOf(
  statement: Fields,
  status: VexStatus,
  tally: UnmappedTally,
): { type: (product: VexProduct) => EventRecord['type']; noteChars: number } {
  const justification = status === 'not_affected' ? optionalName(statement, 'justification') : ''
  if (justification !== '' && !isJustification(justification)) {
    tally.add(unknownValue(`${pathOf(statement, 'alike')}.justification`, justification))
  }
  let note = ''
  for (const name of noteFields[status]) note ||= optionalNote(statement, name)
  return {
    type: (product) => vexEventType(status, { justification, note, fixedVersion: product.version }),
    noteChars: note.length,
  }
}

/** Fields for the note of each status; the first that is set is used. */
const noteFields: Readonly<Record<VexStatus, readonly string[]>> = {
  under_investigation: [],
  affected: ['action_statement', 'status_notes'],
  fixed: ['status_notes'],
  not_affected: ['impact_statement', 'status_notes'],
}

/** Returns each product with its subcomponents, which are beside the products in the first generation. */
function productsOf(statement: Fields): { product: VexProduct; components: readonly VexProduct[] }[] {
  const shared = productsIn(statement, 'subcomponents')
  return entriesOf(statement, 'products').flatMap((value) => {
    const product = productOf(value)
    if (product === undefined) return []
    const own = value.kind === 'fields' ? productsIn(value, 'subcomponents') : []
    return [{ product, components: own.length === 0 ? shared : [...shared, ...own] }]
  })
}

function productsIn(fields: Fields, name: string): VexProduct[] {
  return entriesOf(fields, name)
    .map(productOf)
    .filter((thing) => thing !== undefined)
}

/** Returns undefined for a product that is identified by hashes only. */
function productOf(value: Value): VexProduct | undefined {
  if (value.kind === 'text') {
    const identifier = readName(value)
    return toVexProduct(identifier, identifier, '')
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
  const identifier = readName(first)
  for (const other of others) if (other.kind === 'text' && other.text === identifier) markRead(other)
  return toVexProduct(identifier, identifier.startsWith('pkg:') ? identifier : peek(identifiers, 'purl'), '')
}

function recordOf(
  key: string,
  productStatements: readonly ProductStatement[],
  author: string,
  tally: UnmappedTally,
  budget: DocumentBudget,
): AdvisoryRecord {
  const [{ product, component, sourceEvent }] = productStatements as [ProductStatement]
  const updated = productStatements
    .map((productStatement) => productStatement.updated)
    .reduce((a, b) => (compareInstants(a, b) > 0 ? a : b))
  const events = buildHistory(
    productStatements.map((productStatement) => productStatement.sourceEvent),
    tally,
  )
  return {
    ...emptyRecord,
    ...productColumns(product, component),
    key,
    author,
    aliases: budget.aliases(
      // One array shared by all advisories of a statement.
      [...new Set(productStatements.map(({ aliases }) => aliases))].flat(),
      sourceEvent.source,
    ),
    events,
    createdMs: events[0]?.timeMs,
    updatedMs: updated.ms,
  }
}
