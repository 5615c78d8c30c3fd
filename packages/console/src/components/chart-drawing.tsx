import { AxisBottom, AxisLeft } from '@visx/axis'
import { GridRows } from '@visx/grid'
import { scaleBand, scaleLinear, scaleUtc } from '@visx/scale'
import { AreaClosed, LinePath } from '@visx/shape'
import { type PointerEvent, useLayoutEffect, useRef, useState } from 'react'
import {
  type ChartData,
  type ChartPoint,
  formatOfPeriod,
  highestValue,
  isLimitNear,
  seriesClass,
  timeOf,
} from './chart-data.ts'

/** Draws a chart as SVG: its colors are tokens of the stylesheet, and it prints. It has no animations. */

interface ChartDrawingProps extends ChartData {
  readonly format: (value: number) => string
  /** Text of the picture for screen readers. */
  readonly summary: string
}

const HEIGHT = 220
const MARGIN = { top: 10, right: 28, bottom: 26, left: 68 }
const INNER_HEIGHT = HEIGHT - MARGIN.top - MARGIN.bottom
/** Of one label of the axis below. */
const LABEL_WIDTH = 80
const ROWS = 4
const BAR_WIDTH_MAX = 56

export function ChartDrawing(props: ChartDrawingProps) {
  const { points, series, kind, format, limit, summary } = props
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const dates = formatOfPeriod(props)
  const [pointed, setPointed] = useState<ChartPoint | undefined>()
  const inner = Math.max(width - MARGIN.left - MARGIN.right, 1)
  const days = points.map(({ date }) => date)
  const place = kind === 'stacked-bar' ? placeBars(days, inner) : placeTimes(days, inner)
  const y = scaleLinear<number>({ domain: [0, topOf(props)], range: [INNER_HEIGHT, 0] })
  const point = ({ clientX, currentTarget }: PointerEvent<SVGRectElement>) => {
    const at = clientX - currentTarget.getBoundingClientRect().left
    setPointed(nearest(points, (date) => Math.abs(place.middle(date) - at)))
  }
  return (
    <div className="chart-drawing" ref={box}>
      <svg width={width} height={HEIGHT} role="img" aria-label={summary}>
        <g transform={`translate(${MARGIN.left}, ${MARGIN.top})`}>
          <GridRows scale={y} width={inner} tickValues={ticksOf(props)} className="chart-grid" />
          {kind === 'stacked-bar' ? (
            <Bars {...props} place={place} y={y} />
          ) : (
            <Lines {...props} place={place} y={y} />
          )}
          {limit !== undefined && isLimitNear(props) && (
            <line className="chart-limit" x1={0} x2={inner} y1={y(limit.value)} y2={y(limit.value)} />
          )}
          <AxisLeft
            scale={y}
            tickValues={ticksOf(props)}
            tickFormat={(value) => format(Number(value))}
            axisClassName="chart-axis"
            hideAxisLine
            hideTicks
          />
          <AxisBottom
            top={INNER_HEIGHT}
            scale={place.scale}
            tickValues={place.ticks(Math.max(2, Math.floor(inner / LABEL_WIDTH)))}
            tickFormat={(value) => dates.short.format(new Date(value as string | Date))}
            axisClassName="chart-axis"
            hideTicks
          />
          {pointed !== undefined && (
            <line
              className="chart-pointer"
              x1={place.middle(pointed.date)}
              x2={place.middle(pointed.date)}
              y1={0}
              y2={INNER_HEIGHT}
            />
          )}
          <rect
            className="chart-surface"
            width={inner}
            height={INNER_HEIGHT}
            onPointerMove={point}
            onPointerLeave={() => setPointed(undefined)}
          />
        </g>
      </svg>
      {pointed !== undefined && (
        <p className="chart-readout" aria-hidden>
          <span>{dates.long.format(timeOf(pointed.date))}</span>
          {series.map((one, index) => {
            const value = pointed.values[one.id]
            return (
              <span key={one.id}>
                <span className={`chart-key ${kind} ${seriesClass(one, index)}`} /> {one.title}{' '}
                {value === undefined ? 'not recorded' : format(value)}
              </span>
            )
          })}
        </p>
      )}
    </div>
  )
}

/** The width of an element, which a chart fills. */
function useWidth(box: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const measure = () => setWidth(Math.floor(element.clientWidth))
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [box])
  return width
}

/** Places days on an axis of time: days that were not recorded leave a gap. */
function placeTimes(days: readonly string[], width: number) {
  const times = days.map(timeOf)
  const scale = scaleUtc<number>({ domain: [times[0] ?? 0, times.at(-1) ?? 1], range: [0, width] })
  const ticks = (count: number) => (days.length <= count ? times : scale.ticks(count))
  return { scale, ticks, middle: (date: string) => scale(timeOf(date)), width: 0 }
}

/** Places days side by side. */
function placeBars(days: readonly string[], width: number) {
  const scale = scaleBand<string>({ domain: [...days], range: [0, width], padding: 0.2 })
  const ticks = (count: number) => {
    const step = Math.ceil(days.length / count)
    return days.filter((_, index) => (days.length - 1 - index) % step === 0)
  }
  const middle = (date: string) => (scale(date) ?? 0) + scale.bandwidth() / 2
  return { scale, ticks, middle, width: Math.min(scale.bandwidth(), BAR_WIDTH_MAX) }
}

interface PlotProps extends ChartData {
  readonly place: { middle(date: string): number; readonly width: number }
  readonly y: (value: number) => number
}

function Lines({ series, points, kind, place, y }: PlotProps) {
  return series.map((one, index) => {
    const known = points.filter(({ values }) => values[one.id] !== undefined)
    const x = ({ date }: ChartPoint) => place.middle(date)
    const height = ({ values }: ChartPoint) => y(values[one.id] ?? 0)
    const className = seriesClass(one, index)
    const [only] = known
    return (
      <g key={one.id}>
        {kind === 'area' && (
          <AreaClosed
            data={known}
            x={x}
            y0={INNER_HEIGHT}
            y1={height}
            yScale={scaleLinear<number>({ range: [INNER_HEIGHT, 0] })}
            className={`chart-area ${className}`}
          />
        )}
        <LinePath data={known} x={x} y={height} className={`chart-line ${className}`} />
        {known.length === 1 && only !== undefined && (
          <circle className={`chart-dot ${className}`} cx={x(only)} cy={height(only)} r={4} />
        )}
      </g>
    )
  })
}

function Bars({ series, points, place, y }: PlotProps) {
  return points.map(({ date, values }) => {
    let below = 0
    return series.map((one, index) => {
      const value = values[one.id] ?? 0
      const top = y(below + value)
      const height = y(below) - top
      below += value
      if (height <= 0) return null
      return (
        <rect
          key={`${date} ${one.id}`}
          className={`chart-bar ${seriesClass(one, index)}`}
          x={place.middle(date) - place.width / 2}
          y={top}
          width={place.width}
          height={height}
        />
      )
    })
  })
}

function nearest(points: readonly ChartPoint[], distance: (date: string) => number): ChartPoint | undefined {
  let found: ChartPoint | undefined
  for (const point of points)
    if (found === undefined || distance(point.date) < distance(found.date)) found = point
  return found
}

/** The highest value of the axis. */
function highestOf(data: ChartData): number {
  const { limit } = data
  const highest = highestValue(data)
  return limit !== undefined && isLimitNear(data) ? Math.max(highest, limit.value) : highest
}

/** Round steps of the axis, from 0 to above the highest value. */
function ticksOf(data: ChartData): number[] {
  const step = stepOf(highestOf(data) / ROWS, data.isBinary === true)
  const count = Math.max(1, Math.ceil(highestOf(data) / step))
  return Array.from({ length: count + 1 }, (_, index) => index * step)
}

const topOf = (data: ChartData): number => ticksOf(data).at(-1) ?? 1

function stepOf(least: number, isBinary: boolean): number {
  const unit = isBinary ? 1024 ** Math.max(0, Math.floor(Math.log(Math.max(least, 1)) / Math.log(1024))) : 1
  const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(least / unit, 1))))
  const factor = [1, 2, 5, 10].find((one) => one * power * unit >= least) ?? 10
  return factor * power * unit
}
