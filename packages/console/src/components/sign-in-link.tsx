import { useLocation } from '@tanstack/react-router'

/** Signs in in another tab, and returns to this page there: what is typed in this tab stays. */
export function SignInLink() {
  const { pathname, searchStr } = useLocation()
  return (
    <a href={`/console${pathname}${searchStr}`} target="_blank" rel="noopener">
      Sign in in another tab
    </a>
  )
}
