import { Label, ProgressBar } from 'react-aria-components'
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
  const isKnown = done !== undefined && total !== undefined && total > 0
  const text =
    done === undefined ? '' : `${formatNumber(done)}${isKnown ? ` of ${formatNumber(total)}` : ''} ${unit}`
  return (
    <ProgressBar
      className="progress"
      isIndeterminate={!isKnown}
      {...(isKnown && { value: done, maxValue: total })}
      valueLabel={text}
    >
      <div className="progress-text">
        <Label>{label}</Label>
        <span className="muted">{text}</span>
      </div>
      <progress aria-hidden {...(isKnown && { value: done, max: total })} />
    </ProgressBar>
  )
}
