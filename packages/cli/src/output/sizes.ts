/** Formats and parses numbers of bytes: `1.5 GiB`, `50MiB`. */

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

export function formatSize(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1)
  const value = bytes / 1024 ** power
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`
}

/** Parses a size such as `100GiB`. Returns undefined if it is invalid or less than one byte. */
export function parseSize(text: string): number | undefined {
  const [, number, unit = 'B'] = /^(\d{1,15}(?:\.\d{1,3})?) ?([KMGT]i?B|B)?$/.exec(text) ?? []
  const power = units.findIndex((name) => name === unit || name.replace('i', '') === unit)
  const bytes = Math.round(Number(number) * 1024 ** power)
  return number === undefined || bytes < 1 ? undefined : bytes
}
