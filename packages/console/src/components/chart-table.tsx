import { type ChartData, formatOfPeriod, timeOf } from './chart-data.ts'

interface ChartTableProps extends ChartData {
  readonly format: (value: number) => string
  readonly isShown: boolean
}

/** The values of a chart, the newest first. Screen readers always have it. */
export function ChartTable(props: ChartTableProps) {
  const { title, series, points, format, isShown } = props
  const dates = formatOfPeriod(props)
  return (
    // A region with a scroll bar must be reachable by keyboard.
    <div className={isShown ? 'chart-table scroll' : 'unseen'} {...(isShown && { tabIndex: 0 })}>
      <table className="plain-table">
        <caption className="unseen">{title}</caption>
        <thead>
          <tr>
            <th scope="col">{dates.title}</th>
            {series.map(({ id, title: name }) => (
              <th key={id} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.toReversed().map(({ date, values }) => (
            <tr key={date}>
              <th scope="row">{dates.long.format(timeOf(date))}</th>
              {series.map(({ id }) => {
                const value = values[id]
                return (
                  <td key={id} className="number">
                    {value === undefined ? <span className="muted">not recorded</span> : format(value)}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
