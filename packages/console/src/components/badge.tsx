import type { ReactNode } from 'react'

export type Tone = 'plain' | 'good' | 'warn' | 'bad'

/** A short state beside a name. Its text says what its color means. */
export function Badge({
  tone = 'plain',
  title,
  children,
}: {
  readonly tone?: Tone
  readonly title?: string | undefined
  readonly children: ReactNode
}) {
  return (
    <span className={`badge ${tone}`} title={title}>
      {children}
    </span>
  )
}
