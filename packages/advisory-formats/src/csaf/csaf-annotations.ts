import { formatLimits } from '../limits.ts'
import type { DocumentBudget } from '../reading/document-budget.ts'
import { compareInstants, type Instant } from '../reading/instants.ts'
import { type Fields, problemWith, type Value } from '../syntax/source-value.ts'
import {
  entriesOf,
  field,
  markRead,
  objectsIn,
  optionalInstant,
  readNote,
  requireField,
} from '../syntax/value-fields.ts'
import type { CsafProducts } from './csaf-products.ts'

/** What a CSAF vulnerability states beside product status: flags, threats, remediations and scores, each for some products. */

/** Returns the entries of a list that are about a product, and marks the references to the product as read. */
export type AnnotationLookup = (productId: string) => readonly Fields[]

interface Annotation {
  readonly entry: Fields
  /** The values of the document that refer to the product. */
  readonly references: readonly Value[]
}

export function annotationsIn(
  vulnerability: Fields,
  list: 'flags' | 'threats' | 'remediations' | 'scores',
  products: CsafProducts,
  budget: DocumentBudget,
  isRelevant: (entry: Fields) => boolean,
): AnnotationLookup {
  const general: Annotation[] = []
  const byProduct = new Map<string, Annotation[]>()
  const add = (id: Value, remark: Annotation) => {
    if (id.kind !== 'text') throw problemWith(id, 'must be text')
    budget.annotation(remark.entry)
    const known = byProduct.get(id.text)
    if (known === undefined) byProduct.set(id.text, [remark])
    else known.push(remark)
  }
  for (const entry of objectsIn(vulnerability, list).filter(isRelevant)) {
    const ids = entriesOf(entry, list === 'scores' ? 'products' : 'product_ids')
    const groups = entriesOf(entry, 'group_ids')
    for (const id of ids) add(id, { entry, references: [id] })
    for (const group of groups) {
      for (const id of products.group(group)) add(id, { entry, references: [group, id] })
    }
    // An entry without products applies to all.
    if (ids.length === 0 && groups.length === 0) general.push({ entry, references: [] })
  }
  return (productId) =>
    [...(byProduct.get(productId) ?? []), ...general].map(({ entry, references }) => {
      for (const reference of references) markRead(reference)
      budget.annotation(entry)
      markRead(field(entry, 'category'))
      return entry
    })
}

/** Joins the `details` of annotations into one note, once for all products with the same annotations. */
export function createNoteJoiner(): (annotations: readonly Fields[]) => string {
  const details = new Map<Fields, string>()
  const notes = new Map<string, string>()
  return (annotations) => {
    const [first, second] = annotations
    if (first === undefined) return ''
    for (const annotation of annotations) {
      if (!details.has(annotation)) details.set(annotation, readNote(requireField(annotation, 'details')))
    }
    if (second === undefined) return details.get(first) ?? ''
    const key = annotations.map(({ at }) => at).join()
    const known = notes.get(key)
    if (known !== undefined) return known
    const parts = [...new Set(annotations.map((annotation) => details.get(annotation) ?? ''))]
    if (parts.reduce((chars, part) => chars + part.length + 2, 0) > formatLimits.advisoryNoteCharsMax) {
      throw problemWith(
        first,
        `and the other annotations of one product have more than ${formatLimits.advisoryNoteCharsMax} characters`,
      )
    }
    const note = parts.join('\n\n')
    notes.set(key, note)
    return note
  }
}

/** Returns the latest date of some annotations. */
export function latestDate(annotations: readonly Fields[]): Instant | undefined {
  return annotations
    .map((annotation) => optionalInstant(annotation, 'date'))
    .reduce((a, b) => (a === undefined || (b !== undefined && compareInstants(b, a) > 0) ? b : a), undefined)
}
