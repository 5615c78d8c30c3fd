import { formatLimits } from '../limits.ts'
import { type Fields, problemWith, type Value } from '../syntax/source-value.ts'
import {
  field,
  fieldsOf,
  markRead,
  objectsIn,
  optionalName,
  peek,
  readName,
  requireField,
} from '../syntax/value-fields.ts'
import { NO_PRODUCT, toVexProduct, type VexProduct } from '../vex/vex-product.ts'

/** The `product_tree` of CSAF: the products that its ids stand for, and the product groups. */

export interface CsafProducts {
  /** Resolves an id. An id that is not in the tree stands for itself. */
  readonly resolve: (id: string) => { readonly product: VexProduct; readonly component: VexProduct }
  /** Returns the product ids of the group that a value refers to. */
  readonly group: (reference: Value) => readonly Value[]
}

interface Relationship {
  readonly fields: Fields
  readonly component: string
  readonly product: string
}

export function readCsafProducts(root: Fields): CsafProducts {
  const tree = field(root, 'product_tree')
  const described = new Map<string, Fields>()
  const relationships = new Map<string, Relationship>()
  const groups = new Map<string, readonly Value[]>()
  if (tree !== undefined) {
    const fields = fieldsOf(tree)
    for (const product of objectsIn(fields, 'full_product_names')) addProduct(product, described)
    addBranches(fields, described)
    for (const relationship of objectsIn(fields, 'relationships')) {
      const name = fieldsOf(requireField(relationship, 'full_product_name'))
      relationships.set(idOf(name), {
        fields: relationship,
        component: peek(relationship, 'product_reference'),
        product: peek(relationship, 'relates_to_product_reference'),
      })
    }
    for (const group of objectsIn(fields, 'product_groups')) {
      const members = field(group, 'product_ids')
      groups.set(peek(group, 'group_id'), members?.kind === 'list' ? members.items : [])
    }
  }
  const products = new Map<string, VexProduct>()
  const resolveProduct = (id: string): VexProduct => {
    const known = products.get(id) ?? productOf(id, described.get(id))
    products.set(id, known)
    return known
  }
  const resolve = (id: string) => {
    const outward = chain(id, relationships, 'product')
    const [first] = outward
    if (first === undefined) return { product: resolveProduct(id), component: NO_PRODUCT }
    const inward = chain(first.component, relationships, 'component')
    markRead(field(first.fields, 'product_reference'))
    for (const { fields } of outward) markLink(fields, 'relates_to_product_reference')
    for (const { fields } of inward) markLink(fields, 'product_reference')
    return {
      product: resolveProduct(outward.at(-1)?.product ?? id),
      component: resolveProduct(inward.at(-1)?.component ?? first.component),
    }
  }
  return { resolve, group: (reference) => (reference.kind === 'text' && groups.get(reference.text)) || [] }
}

/** Returns the relationships that lead from an id to a product. */
function chain(
  id: string,
  relationships: ReadonlyMap<string, Relationship>,
  end: 'product' | 'component',
): Relationship[] {
  const steps: Relationship[] = []
  for (let next = relationships.get(id); next !== undefined; next = relationships.get(next[end])) {
    if (steps.length === formatLimits.advisoryProductChainMax) {
      throw problemWith(
        next.fields,
        `is in a chain of more than ${formatLimits.advisoryProductChainMax} relationships`,
      )
    }
    steps.push(next)
  }
  return steps
}

/** Marks the id of a relationship and the end that leads to a product as read. */
function markLink(relationship: Fields, end: 'product_reference' | 'relates_to_product_reference'): void {
  markRead(field(relationship, end))
  markRead(field(fieldsOf(requireField(relationship, 'full_product_name')), 'product_id'))
}

function addBranches(fields: Fields, described: Map<string, Fields>): void {
  for (const branch of objectsIn(fields, 'branches')) {
    const product = field(branch, 'product')
    if (product !== undefined) addProduct(fieldsOf(product), described)
    addBranches(branch, described)
  }
}

function addProduct(product: Fields, described: Map<string, Fields>): void {
  described.set(idOf(product), product)
}

function idOf(product: Fields): string {
  const id = requireField(product, 'product_id')
  if (id.kind !== 'text' || id.text === '') throw problemWith(id, 'must be text')
  return id.text
}

function productOf(id: string, product: Fields | undefined): VexProduct {
  if (product === undefined) return toVexProduct(id, id, '')
  readName(requireField(product, 'product_id'))
  const helper = field(product, 'product_identification_helper')
  const named = helper === undefined ? undefined : fieldsOf(helper)
  const identifier = (named && (optionalName(named, 'purl') || optionalName(named, 'cpe'))) || id
  const parsedProduct = toVexProduct(identifier, identifier, '')
  // Only a package URL contains the name.
  return identifier.startsWith('pkg:') && parsedProduct.type !== ''
    ? parsedProduct
    : toVexProduct(identifier, identifier, optionalName(product, 'name'))
}
