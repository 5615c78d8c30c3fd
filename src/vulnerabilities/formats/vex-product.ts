import { packageNameOf } from './package-url.ts'

/** How the documents of VEX name products, as the columns of an advisory have it. */

/** What is known of a product or of a component in it. */
export interface NamedThing {
  /** A package URL, a CPE or any text: what it is called in the source. */
  readonly given: string
  readonly name: string
  readonly type: string
  readonly version: string
  readonly architecture: string
}

export const NOTHING: NamedThing = { given: '', name: '', type: '', version: '', architecture: '' }

/** What part of the world a CPE is about. */
const cpeParts = new Map([
  ['a', 'application'],
  ['h', 'hardware'],
  ['o', 'operating-system'],
])

/** By a package URL that may be elsewhere than in `given`; what else the source calls it, if anything, is the name for people. */
export function namedThing(given: string, packageUrl: string, nameForPeople: string): NamedThing {
  const url = packageNameOf(packageUrl)
  if (url !== undefined) return { given, ...url }
  const [, part] = /^cpe:(?:2\.3:|\/)([aho]):/.exec(given) ?? []
  return { ...NOTHING, given, name: nameForPeople || given, type: cpeParts.get(part ?? '') ?? '' }
}

/** What the columns of an advisory have of both. */
export function thingColumns(product: NamedThing, component: NamedThing) {
  return {
    artifactName: product.name,
    artifactType: product.type,
    artifactArchitecture: product.architecture || component.architecture,
    componentName: component.name,
    componentType: component.type,
    product: product.given === product.name ? '' : product.given,
    componentProduct: component.given === component.name ? '' : component.given,
  }
}
