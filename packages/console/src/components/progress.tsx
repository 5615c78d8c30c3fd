import { useId } from 'react'
import { formatNumber } from './quantity.tsx'

interface ProgressProps {
  readonly label: string
  /** undefined: it runs, and how far it is is not known. */
  readonly done: number | undefined
  readonly total?: number | undefined
  /** For example "manifests". */
  readonly unit?: string
}

/** How far long work is. */
export function Progress({ label, done, total, unit = '' }: ProgressProps) {
  const id = useId()
  const isKnown = done !== undefined && total !== undefined && total > 0
  const text =
    done === undefined ? '' : `${formatNumber(done)}${isKnown ? ` of ${formatNumber(total)}` : ''} ${unit}`
  return (
    <div className="progress">
      <div className="progress-text">
        <label htmlFor={id}>{label}</label>
        <span className="muted">{text}</span>
      </div>
      <progress id={id} aria-valuetext={text} {...(isKnown && { value: done, max: total })} />
    </div>
  )
}
