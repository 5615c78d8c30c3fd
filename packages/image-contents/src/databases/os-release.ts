import type { FileContents } from '../found-package.ts'
import { linesOf } from './control-fields.ts'

/** Reads os-release(5). Without `ID`, the distribution is `linux`, as that document has it. */
export function readOsRelease(content: Buffer): FileContents {
  const values = new Map<string, string>()
  for (const line of linesOf(content.toString())) {
    const [, name = '', value = ''] = /^\s*([A-Z_]+)=(.*)$/.exec(line) ?? []
    if (name !== '') values.set(name, unquoted(value.trim()))
  }
  if (values.size === 0) return { packages: [], problems: ['it has no assignments'] }
  const id = (values.get('ID') ?? '').toLowerCase()
  const supportEndMs = dayOf(values.get('SUPPORT_END'))
  return {
    packages: [],
    problems: [],
    distribution: {
      id: /^[a-z0-9._-]{1,64}$/.test(id) ? id : 'linux',
      versionId: short(values.get('VERSION_ID')),
      name: short(values.get('PRETTY_NAME') ?? values.get('NAME')),
      ...(supportEndMs === undefined ? {} : { supportEndMs }),
    },
  }
}

const VALUE_CHARS_MAX = 256

function short(value = ''): string {
  return value.replaceAll(/\p{Cc}/gu, '').slice(0, VALUE_CHARS_MAX)
}

/** Returns the start of a day after 1970, `2028-06-30`, in UTC; undefined for other text. */
function dayOf(text = ''): number | undefined {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  // February 30 is read as another day.
  return ms > 0 && new Date(ms).toISOString().slice(0, 10) === text ? ms : undefined
}

/** Shell quoting: single quotes, or double quotes with backslashes. */
function unquoted(value: string): string {
  const [, single, double] = /^(?:'([^']*)'|"((?:[^"\\]|\\.)*)")/.exec(value) ?? []
  return single ?? double?.replaceAll(/\\([$"\\`])/g, '$1') ?? value
}
