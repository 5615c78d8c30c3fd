import type { ReactNode } from 'react'
import { Command } from './copy.tsx'

interface SecretProps {
  /** What was created, and what to do with it. */
  readonly children: ReactNode
  readonly text: string
  /** For example "the password". */
  readonly label: string
}

/** A secret that the server shows once. */
export function Secret({ children, text, label }: SecretProps) {
  return (
    <div className="notice" role="status">
      <div>{children}</div>
      <Command text={text} label={label} />
      <p>It is shown only now.</p>
    </div>
  )
}
