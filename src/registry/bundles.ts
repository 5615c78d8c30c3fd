import type { FieldViolation } from '../core/errors.ts'

/** Labels under which images are offered (the public contract). */
const bundleNames: readonly string[] = [
  'application',
  'base',
  'byol',
  'ai',
  'ai-gpu',
  'featured',
  'fips',
  'commercial',
  'emeritoss',
]

/** Each known, none twice. */
export function checkBundles(bundles: readonly string[], field = 'bundles'): FieldViolation | undefined {
  if (!bundles.every((bundle) => bundleNames.includes(bundle)))
    return { field, description: `each must be one of ${bundleNames.join(', ')}` }
  if (new Set(bundles).size < bundles.length) return { field, description: 'must not name one twice' }
  return undefined
}
