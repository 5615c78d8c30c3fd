import type { FileContents } from '../found-package.ts'

const assigned = (field: string) => new RegExp(`^\\s*\\w+\\.${field}\\s*=\\s*["']([^"']{1,1024})["']`, 'm')
const nameLine = assigned('name')
const versionLine = assigned('version')
const versionCall = /^\s*\w+\.version\s*=\s*Gem::Version\.new\(["']([^"']{1,1024})["']/m
const licenseLine = assigned('license')
const licensesLine = /^\s*\w+\.licenses\s*=\s*\[([^\]]{0,4096})\]/m

/** Reads a gemspec of `specifications/`, which RubyGems generates with one assignment a line. Others are programs; their values may be missing. */
export function readGemspec(content: Buffer): FileContents {
  const text = content.toString()
  const name = nameLine.exec(text)?.[1]
  const version = versionLine.exec(text)?.[1] ?? versionCall.exec(text)?.[1]
  if (name === undefined || version === undefined)
    return { packages: [], problems: ['it has no name or version as a text'] }
  const licenses = [...(licensesLine.exec(text)?.[1] ?? '').matchAll(/["']([^"']+)["']/g)].map(
    ([, license = '']) => license,
  )
  const license = licenseLine.exec(text)?.[1] ?? licenses.join(' OR ')
  return { packages: [{ type: 'gem', name, version, license }], problems: [] }
}
