/** Numbers and sizes as users read them. */

const number = new Intl.NumberFormat('en')
const fraction = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })
const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
const STEP = 1024

export const formatNumber = (value: number | string | bigint): string => number.format(Number(value))

export const plural = (count: number | string, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${Number(count) === 1 ? one : many}`

/** `bytes`: also a 64-bit integer as text. */
export function formatBytes(bytes: number | string | bigint): string {
  let value = Number(bytes)
  let unit = 0
  while (value >= STEP && unit < units.length - 1) {
    value /= STEP
    unit += 1
  }
  return `${fraction.format(unit === 0 ? value : Number(value.toPrecision(3)))} ${units[unit]}`
}

/** A size with the exact number of bytes as its title. */
export function Bytes({ value }: { readonly value: number | string | bigint | undefined }) {
  if (value === undefined) return <span className="muted">unknown</span>
  return <span title={`${formatNumber(value)} bytes`}>{formatBytes(value)}</span>
}
