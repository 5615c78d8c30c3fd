import { parsePackageUrl } from '../package-url/parse-package-url.ts'

/** Maps the products of VEX documents to the columns of advisories. */

/** A product or a component of it. */
export interface VexProduct {
  /** The identifier in the source: a package URL, a CPE or any text. */
  readonly identifier: string
  readonly name: string
  readonly type: string
  readonly version: string
  readonly architecture: string
}

export const NO_PRODUCT: VexProduct = { identifier: '', name: '', type: '', version: '', architecture: '' }

/** What the part of a CPE stands for. */
const cpeParts = new Map([
  ['a', 'application'],
  ['h', 'hardware'],
  ['o', 'operating-system'],
])

/** `packageUrl` may differ from the identifier; `displayName` is the fallback for the name. */
export function toVexProduct(identifier: string, packageUrl: string, displayName: string): VexProduct {
  const url = parsePackageUrl(packageUrl)
  if (url !== undefined) return { identifier, ...url }
  const [, part] = /^cpe:(?:2\.3:|\/)([aho]):/.exec(identifier) ?? []
  return { ...NO_PRODUCT, identifier, name: displayName || identifier, type: cpeParts.get(part ?? '') ?? '' }
}

/** Returns the columns of an advisory for a product and its component. */
export function productColumns(product: VexProduct, component: VexProduct) {
  return {
    artifactName: product.name,
    artifactType: product.type,
    artifactArchitecture: product.architecture || component.architecture,
    componentName: component.name,
    componentType: component.type,
    product: product.identifier === product.name ? '' : product.identifier,
    componentProduct: component.identifier === component.name ? '' : component.identifier,
  }
}
