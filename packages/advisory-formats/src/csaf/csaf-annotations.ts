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

/** What a vulnerability of CSAF says beside the status of products: flags, threats, remediations and scores, each for some. */

/** The entries of a list that are about a product. Whoever asks takes what says that they are. */
export type AnnotationLookup = (productId: string) => readonly Fields[]

interface Annotation {
  readonly entry: Fields
  /** What in the document says that it is about the product. */
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
    // What names no product is about all.
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

/** The `details` of remarks as one note, which is put together once for all products that have the same. */
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
        `and others about one product have more than ${formatLimits.advisoryNoteCharsMax} characters`,
      )
    }
    const note = parts.join('\n\n')
    notes.set(key, note)
    return note
  }
}

/** The last of the dates of remarks. */
export function latestDate(annotations: readonly Fields[]): Instant | undefined {
  return annotations
    .map((annotation) => optionalInstant(annotation, 'date'))
    .reduce((a, b) => (a === undefined || (b !== undefined && compareInstants(b, a) > 0) ? b : a), undefined)
}
