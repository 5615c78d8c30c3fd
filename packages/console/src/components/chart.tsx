import { type ReactNode, useId, useState } from 'react'
import { Button } from 'react-aria-components'
import { type ChartData, formatOfPeriod, isLimitNear, seriesClass, timeOf } from './chart-data.ts'
import { ChartFigures } from './chart-figures.tsx'
import { ChartTable } from './chart-table.tsx'
import { lazyPart } from './lazy-part.tsx'
import { formatNumber } from './quantity.tsx'
import '../styles/chart.css'

/** Values by day, as a picture with a table beside it (ADR 43). The library that draws is loaded with the first chart. */

const ChartDrawing = lazyPart(
  async () => (await import('./chart-drawing.tsx')).ChartDrawing,
  <div className="chart-drawing" role="presentation" />,
)

interface ChartProps extends ChartData {
  /** What to show without values. */
  readonly empty?: ReactNode
}

export function Chart({ empty = 'No data yet. Values are recorded daily.', ...data }: ChartProps) {
  const { title, points, series, format = formatNumber } = data
  const [isTableShown, setTableShown] = useState(false)
  const heading = useId()
  const recorded = points.filter(({ values }) => series.some(({ id }) => values[id] !== undefined))
  const [first, second] = recorded
  return (
    <figure className="chart" aria-labelledby={heading}>
      <figcaption className="chart-head">
        <span id={heading} className="chart-title">
          {title}
        </span>
        {second !== undefined && (
          <Button
            className="button quiet small"
            aria-pressed={isTableShown}
            onPress={() => setTableShown(!isTableShown)}
          >
            {isTableShown ? 'Hide the table' : 'Show as table'}
          </Button>
        )}
      </figcaption>
      {first === undefined && <div className="empty">{empty}</div>}
      {first !== undefined && second === undefined && (
        <ChartFigures {...data} point={first} format={format} />
      )}
      {second !== undefined && (
        <>
          {(series.length > 1 || data.limit !== undefined) && <Legend {...data} />}
          <ChartDrawing {...data} format={format} summary={summaryOf(data, format)} />
          <ChartTable {...data} format={format} isShown={isTableShown} />
        </>
      )}
    </figure>
  )
}

function Legend(data: ChartData) {
  const { series, limit, kind } = data
  return (
    <ul className="chart-legend" aria-hidden>
      {series.map((one, index) => (
        <li key={one.id}>
          <span className={`chart-key ${kind} ${seriesClass(one, index)}`} />
          {one.title}
        </li>
      ))}
      {limit !== undefined && (
        <li>
          <span className="chart-key limit" />
          {limit.title}
          {isLimitNear(data) ? '' : ' (far above the chart)'}
        </li>
      )}
    </ul>
  )
}

/** What a screen reader says about the picture: the period, and the first, highest and last value of each series. */
function summaryOf(data: ChartData, format: (value: number) => string): string {
  const { title, series, points } = data
  const { long } = formatOfPeriod(data)
  const [first] = points
  const last = points.at(-1)
  if (first === undefined || last === undefined) return title
  const parts = series.flatMap(({ id, title: name }) => {
    const values = points.flatMap(({ values }) => values[id] ?? [])
    const [start] = values
    const end = values.at(-1)
    if (start === undefined || end === undefined) return []
    const highest = format(values.reduce((a, b) => Math.max(a, b)))
    return `${name} from ${format(start)} to ${format(end)}, at most ${highest}`
  })
  return `${title}, ${long.format(timeOf(first.date))} to ${long.format(timeOf(last.date))}: ${parts.join('; ')}. A table follows.`
}
