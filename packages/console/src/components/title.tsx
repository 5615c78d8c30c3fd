import { type ReactNode, useEffect, useRef } from 'react'
import { usePagePath } from '../use-page.ts'

let hasNavigated = false

/** The heading of a page, and the title of its document. After a navigation it has the focus, so that screen readers read the new page. */
export function Title({ text, children }: { readonly text: string; readonly children?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${text} – Berth`
  }, [text])
  // For another page, not for another text: someone else may rename what the user is editing.
  const page = usePagePath()
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page
  useEffect(() => {
    // The address that the user opened has the focus where browsers put it.
    if (hasNavigated) heading.current?.focus()
    hasNavigated = true
  }, [page])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? text}
    </h1>
  )
}
