import { parsePackageUrl } from '../package-url/parse-package-url.ts'

/** How the documents of VEX name products, as the columns of an advisory have it. */

/** What is known of a product or of a component in it. */
export interface VexProduct {
  /** A package URL, a CPE or any text: what it is called in the source. */
  readonly identifier: string
  readonly name: string
  readonly type: string
  readonly version: string
  readonly architecture: string
}

export const NO_PRODUCT: VexProduct = { identifier: '', name: '', type: '', version: '', architecture: '' }

/** What part of the world a CPE is about. */
const cpeParts = new Map([
  ['a', 'application'],
  ['h', 'hardware'],
  ['o', 'operating-system'],
])

/** By a package URL that may be elsewhere than in `given`; what else the source calls it, if anything, is the name for people. */
export function toVexProduct(identifier: string, packageUrl: string, displayName: string): VexProduct {
  const url = parsePackageUrl(packageUrl)
  if (url !== undefined) return { identifier, ...url }
  const [, part] = /^cpe:(?:2\.3:|\/)([aho]):/.exec(identifier) ?? []
  return { ...NO_PRODUCT, identifier, name: displayName || identifier, type: cpeParts.get(part ?? '') ?? '' }
}

/** What the columns of an advisory have of both. */
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
