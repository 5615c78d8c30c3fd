import { type NavigateOptions, useMatch, useNavigate, useRouter } from '@tanstack/react-router'
import { useCallback } from 'react'
import { useIsShown } from './use-is-shown.ts'

/** The page that a component is on. The address may be that of the next page already: while its code loads, and after a dialog is closed. */

/** Path of the page in the console. */
export const usePagePath = (): string | undefined =>
  useMatch({ strict: false, select: ({ pathname }) => comparable(pathname) })

/** Returns a function that says whether the user is still on this page. */
export function useIsOnPage(): () => boolean {
  const router = useRouter()
  const page = usePagePath()
  return useCallback(() => comparable(router.latestLocation.pathname) === page, [router, page])
}

/** Returns a function that opens another page after something was done here, unless the user has left this page meanwhile. */
export function useLeave(): (to: NavigateOptions) => Promise<void> {
  const navigate = useNavigate()
  const isOnPage = useIsOnPage()
  return async (to) => {
    // By default, what was entered is sent: nothing is lost.
    if (isOnPage()) await navigate({ ignoreBlocker: true, ...to })
  }
}

/** Returns a function that opens what was created in this dialog, unless the user has closed it meanwhile: another one can be open. */
export function useOpenCreated(): (to: NavigateOptions) => Promise<void> {
  const leave = useLeave()
  const isShown = useIsShown()
  return async (to) => {
    if (isShown.current) await leave(to)
  }
}

/** The router encodes the path of a page, but not that of an address, and finds pages in any case. */
function comparable(path: string): string {
  try {
    return decodeURIComponent(path).replace(/\/$/, '').toLowerCase()
  } catch {
    return path.toLowerCase()
  }
}
