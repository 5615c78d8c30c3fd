import { limits } from '../../config/limits.ts'

/** The groups that somebody is in, by the claims of their provider; `claim` names the one that holds them, '' none. */
export function readGroupsClaim(
  claims: Readonly<Record<string, unknown>>,
  claim: string,
): readonly string[] | { readonly problem: string } {
  const values = claim === '' || !Object.hasOwn(claims, claim) ? [] : [claims[claim] ?? []].flat()
  const groups = values.filter((group) => typeof group === 'string')
  if (groups.length !== values.length)
    return { problem: 'its claim of groups holds something else than names' }
  if (groups.length > limits.sessionGroupsMax)
    return { problem: `it names more than ${limits.sessionGroupsMax} groups` }
  // What cannot be in a mapping gives nothing.
  return groups.filter((group) => group !== '' && group.length <= limits.externalGroupIdCharsMax)
}
