import type { LayerLimits } from '../limits.ts'

/** Paths in an image: relative to its root, without a leading slash, `.` or empty parts. */

export type PathLimits = Pick<LayerLimits, 'pathBytesMax' | 'pathDepthMax'>

/** Returns the path of a tar entry, or why it has none. An absolute name starts at the root, as container runtimes have it. */
export function entryPath(
  name: string,
  { pathBytesMax, pathDepthMax }: PathLimits,
): { readonly path: string } | { readonly problem: string } {
  if (name.includes('\0')) return { problem: 'its name has a NUL character' }
  if (Buffer.byteLength(name) > pathBytesMax)
    return { problem: `its name has more than ${pathBytesMax} bytes` }
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) return { problem: 'its name leads out of its folder' }
  if (parts.length > pathDepthMax) return { problem: `its name has more than ${pathDepthMax} folders` }
  return { path: parts.join('/') }
}

export function splitPath(path: string): readonly [folder: string, name: string] {
  const slash = path.lastIndexOf('/')
  return [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)]
}

/** Returns a link's target from the root. `..` at the root stays there, so that no link leads out. */
export function targetPath(folder: string, target: string): string {
  const parts = target.startsWith('/') || folder === '' ? [] : folder.split('/')
  for (const part of target.split('/'))
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  return parts.join('/')
}
