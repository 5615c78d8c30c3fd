import { useQuery } from '@tanstack/react-query'
import { whoAmI } from './queries.ts'

/**
 * What the user may do, as the server says. Pages use it to explain what is not possible before the user tries; the server decides each
 * request itself.
 */
export interface Access {
  /** Why the user cannot do this in a folder; undefined if they can, or if it is not known. */
  missing(uid: string, capability: string): string | undefined
}

export function useAccess(): Access {
  const { data } = useQuery(whoAmI)
  return {
    missing(uid, capability) {
      if (data === undefined) return undefined
      const isHeld = data.capabilities.some(({ group, role, capabilities }) => {
        const scope = group?.id ?? ''
        const applies = scope === '' || uid === scope || uid.startsWith(`${scope}/`)
        return applies && (role?.capabilities ?? capabilities).includes(capability)
      })
      return isHeld ? undefined : `Requires the capability ${capability}`
    },
  }
}
