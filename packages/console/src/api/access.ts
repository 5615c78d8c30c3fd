import { useQuery } from '@tanstack/react-query'
import { whoAmI } from './queries/groups.ts'

/**
 * What the user may do, as the server says. Pages use it to explain what is not possible before the user tries; the server decides each
 * request itself.
 */
export interface Access {
  /** Why the user cannot do this in a folder; undefined if they can, or if it is not known. */
  missing(uid: string, capability: string): string | undefined
  /** Whether the user can do this in a folder, or with '' in the whole installation; false if it is not known yet. */
  holds(uid: string, capability: string): boolean
}

export function useAccess(): Access {
  const { data } = useQuery(whoAmI)
  const holds = (uid: string, capability: string) =>
    data?.capabilities.some(({ group, role, capabilities }) => {
      const scope = group?.id ?? ''
      const applies = scope === '' || uid === scope || uid.startsWith(`${scope}/`)
      return applies && (role?.capabilities ?? capabilities).includes(capability)
    }) === true
  return {
    holds,
    missing: (uid, capability) =>
      data === undefined || holds(uid, capability) ? undefined : `Requires the capability ${capability}`,
  }
}
