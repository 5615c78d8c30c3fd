/** Numbers of bytes, as people read and write them: `1.5 GiB`, `50MiB`. */

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

export function formatSize(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1)
  const value = bytes / 1024 ** power
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`
}

/** Undefined for what is no size such as `100GiB`, or less than a byte. */
export function parseSize(text: string): number | undefined {
  const [, number, unit = 'B'] = /^(\d{1,15}(?:\.\d{1,3})?) ?([KMGT]i?B|B)?$/.exec(text) ?? []
  const power = units.findIndex((name) => name === unit || name.replace('i', '') === unit)
  const bytes = Math.round(Number(number) * 1024 ** power)
  return number === undefined || bytes < 1 ? undefined : bytes
}
