import { limits } from '../../config/limits.ts'

/** Reads a user's groups from the claims of their provider. `claim`: name of the claim; '' for none. */
export function readGroupsClaim(
  claims: Readonly<Record<string, unknown>>,
  claim: string,
): readonly string[] | { readonly problem: string } {
  const values = claim === '' || !Object.hasOwn(claims, claim) ? [] : [claims[claim] ?? []].flat()
  const groups = values.filter((group) => typeof group === 'string')
  if (groups.length !== values.length)
    return { problem: 'its groups claim contains a value that is not a string' }
  if (groups.length > limits.sessionGroupsMax)
    return { problem: `its groups claim has more than ${limits.sessionGroupsMax} groups` }
  // A mapping cannot name other groups.
  return groups.filter((group) => group !== '' && group.length <= limits.externalGroupIdCharsMax)
}
