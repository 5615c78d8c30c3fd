import { useEffect, useState } from 'react'

/**
 * Keeps the focus on the page after a dialog. It returns to the button that opened the dialog; if the button is removed or disabled by
 * then, for example with the row of what was deleted, it goes to what surrounded the button, or to the content of the page.
 */
export function useFocusReturn(): void {
  const [path] = useState(() => ancestorsOf(document.activeElement))
  useEffect(
    () => () => {
      // After the dialog has returned the focus itself, which it does in the next frame.
      requestAnimationFrame(() => requestAnimationFrame(() => focusIfLost(path)))
    },
    [path],
  )
}

function focusIfLost(path: readonly HTMLElement[]): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return
  const around = path.find((element) => element.isConnected && element.matches(FOCUSABLE))
  if (around === undefined) focusContent()
  else around.focus()
}

/** For what had the focus and is gone, outside of the content. */
export const focusContent = (): void => document.getElementById('content')?.focus({ preventScroll: true })

const FOCUSABLE = ':is(a, button, [tabindex]):not(:disabled, [aria-disabled="true"])'

function ancestorsOf(element: Element | null): readonly HTMLElement[] {
  if (element === null) return []
  const rest = ancestorsOf(element.parentElement)
  return element instanceof HTMLElement ? [element, ...rest] : rest
}
