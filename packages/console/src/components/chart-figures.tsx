import { type ChartData, type ChartPoint, formatOfPeriod, seriesClass, timeOf } from './chart-data.ts'

interface ChartFiguresProps extends ChartData {
  readonly point: ChartPoint
  readonly format: (value: number) => string
}

/** The values of the only day of a chart, in its place: one bar on an axis compares nothing. */
export function ChartFigures(props: ChartFiguresProps) {
  const { series, point, format, limit, kind, period = 'day' } = props
  const isKeyed = series.length > 1
  return (
    <>
      <dl className="chart-figures">
        {series.map((one, index) => {
          const value = point.values[one.id]
          return (
            <div key={one.id}>
              <dt>
                {isKeyed && <span className={`chart-key ${kind} ${seriesClass(one, index)}`} />}
                {one.title}
              </dt>
              <dd>{value === undefined ? <span className="muted">not recorded</span> : format(value)}</dd>
            </div>
          )
        })}
      </dl>
      <p className="hint">
        {limit !== undefined && `${limit.title}. `}
        Recorded for {formatOfPeriod(props).long.format(timeOf(point.date))}. The chart starts with the second{' '}
        {period}.
      </p>
    </>
  )
}
