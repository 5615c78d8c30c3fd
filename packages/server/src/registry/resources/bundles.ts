import type { FieldViolation } from '../../api/errors.ts'

/** The labels under which images are offered (the public contract). */
const bundles = [
  'application',
  'base',
  'byol',
  'ai',
  'ai-gpu',
  'featured',
  'fips',
  'commercial',
  'emeritoss',
] as const

const knownBundles: ReadonlySet<string> = new Set(bundles)

/** Returns the first violation in a list of bundles: an unknown or a repeated one. */
export function checkBundles(given: readonly string[], field = 'bundles'): FieldViolation | undefined {
  const at = given.findIndex((bundle, index) => !knownBundles.has(bundle) || given.indexOf(bundle) < index)
  const bundle = given[at]
  if (bundle === undefined) return undefined
  const description = knownBundles.has(bundle)
    ? `must not name ${bundle} twice`
    : `must be one of ${bundles.join(', ')}`
  return { field: `${field}[${at}]`, description }
}
