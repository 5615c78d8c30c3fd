import { findAudience } from '../../tokens/exchange/token-request.ts'

/** Resolves requested audiences: the first allowed one if none is requested; undefined if one is not allowed. */
export function resolveAudiences(
  allowed: readonly string[],
  requested: readonly string[],
): readonly string[] | undefined {
  const found = requested.map((one) => findAudience(allowed, one))
  if (found.includes(undefined)) return undefined
  return found.length === 0 ? allowed.slice(0, 1) : [...new Set(found as string[])]
}
