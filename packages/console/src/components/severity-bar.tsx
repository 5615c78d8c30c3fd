import { type SeverityName, severities } from './severity.ts'
import '../styles/chart.css'

/** Numbers of findings by severity as parts of a bar. The numbers are in the text beside it. */
export function SeverityBar({ counts }: { readonly counts: ReadonlyMap<SeverityName, number> }) {
  const total = [...counts.values()].reduce((a, b) => a + b, 0)
  if (total === 0) return null
  let start = 0
  return (
    <svg
      className="severity-bar"
      viewBox={`0 0 ${total} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      {severities.map((name) => {
        const count = counts.get(name) ?? 0
        if (count === 0) return null
        const at = start
        start += count
        return (
          <rect key={name} className={seriesOf(name)} x={at} width={count} height={1} fill="currentColor" />
        )
      })}
    </svg>
  )
}

/** The class with the color of a severity, as charts have it. */
export const seriesOf = (name: SeverityName): string => `series-${name === 'none' ? 'unknown' : name}`
