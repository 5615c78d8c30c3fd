import { type ReactNode, useState } from 'react'

interface DisclosureProps {
  readonly summary: ReactNode
  /** Open from the start. */
  readonly isOpen?: boolean
  readonly children: ReactNode
}

/** Details that are rendered when they are opened for the first time. */
export function Disclosure({ summary, isOpen = false, children }: DisclosureProps) {
  const [wasOpened, setOpened] = useState(isOpen)
  return (
    <details
      className="disclosure"
      open={isOpen}
      onToggle={({ currentTarget }) => currentTarget.open && setOpened(true)}
    >
      <summary>{summary}</summary>
      {wasOpened && children}
    </details>
  )
}
