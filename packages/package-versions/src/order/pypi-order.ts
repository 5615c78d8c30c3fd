import { compareDigits, compareLists, compareText, isDigits } from './compare-parts.ts'
import type { VersionOrder } from './version-order.ts'

/**
 * PyPI: PEP 440, for numbers of any size. Versions that were published before PEP 440 and do not follow it are before all others, in the
 * order of their parts.
 */
export const pypiOrder: VersionOrder<PypiVersion> = {
  parse(text) {
    const version = text.trim().toLowerCase()
    if (version === '' || /\s/.test(version)) return undefined
    return parsePep440(version) ?? { legacy: version.match(/\d+|[a-z]+/g) ?? [] }
  },
  compare(a, b) {
    if ('legacy' in a && 'legacy' in b) return compareLists(a.legacy, b.legacy, '', compareLegacyPart)
    if ('legacy' in a || 'legacy' in b) return 'legacy' in a ? -1 : 1
    return (
      compareDigits(a.epoch, b.epoch) ||
      compareLists(a.release, b.release, '0', compareDigits) ||
      compareStages(a, b) ||
      compareLists(a.local, b.local, '', compareLocalPart)
    )
  },
}

type PypiVersion = Pep440 | { readonly legacy: readonly string[] }

interface Pep440 {
  readonly epoch: string
  readonly release: readonly string[]
  readonly pre: Stage | undefined
  /** Number of the post-release. */
  readonly post: string | undefined
  readonly dev: string | undefined
  readonly local: readonly string[]
}

interface Stage {
  /** `a`, `b` or `rc`. */
  readonly name: string
  readonly number: string
}

const PEP440 = new RegExp(
  [
    String.raw`^v?(?:(?<epoch>\d+)!)?(?<release>\d+(?:\.\d+)*)`,
    String.raw`(?:[-_.]?(?<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?<preNumber>\d*))?`,
    String.raw`(?:-(?<implicit>\d+)|[-_.]?(?<post>post|rev|r)[-_.]?(?<postNumber>\d*))?`,
    String.raw`(?:[-_.]?(?<dev>dev)[-_.]?(?<devNumber>\d*))?`,
    String.raw`(?:\+(?<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`,
  ].join(''),
)

const stageNames: Readonly<Record<string, string>> = {
  alpha: 'a',
  beta: 'b',
  preview: 'rc',
  pre: 'rc',
  c: 'rc',
}

function parsePep440(version: string): Pep440 | undefined {
  const groups = PEP440.exec(version)?.groups
  if (groups === undefined) return undefined
  const {
    epoch = '',
    release = '',
    pre,
    preNumber = '',
    implicit,
    post,
    postNumber = '',
    dev,
    devNumber,
    local,
  } = groups
  return {
    epoch,
    release: release.split('.'),
    pre: pre === undefined ? undefined : { name: stageNames[pre] ?? pre, number: preNumber },
    post: implicit ?? (post === undefined ? undefined : postNumber),
    dev: dev === undefined ? undefined : devNumber,
    local: local?.split(/[-_.]/) ?? [],
  }
}

/** Compares pre-release, post-release and development release, in this order. */
function compareStages(a: Pep440, b: Pep440): number {
  return (
    compareText(stageOf(a), stageOf(b)) ||
    compareDigits(a.pre?.number ?? '', b.pre?.number ?? '') ||
    Number(a.post !== undefined) - Number(b.post !== undefined) ||
    compareDigits(a.post ?? '', b.post ?? '') ||
    Number(a.dev === undefined) - Number(b.dev === undefined) ||
    compareDigits(a.dev ?? '', b.dev ?? '')
  )
}

/** A development release of a release is before its pre-releases, a development release of a post-release is not. */
function stageOf({ pre, post, dev }: Pep440): string {
  if (pre !== undefined) return pre.name
  return post === undefined && dev !== undefined ? '' : 'release'
}

/** Numbers are after text, and the end is before both. */
function compareLocalPart(a: string, b: string): number {
  const rank = (part: string) => (part === '' ? 0 : isDigits(part) ? 2 : 1)
  return rank(a) - rank(b) || (isDigits(a) ? compareDigits(a, b) : compareText(a, b))
}

/** As in versions before PEP 440: text is before the end, and the end before numbers. */
function compareLegacyPart(a: string, b: string): number {
  const rank = (part: string) => (part === '' ? 1 : isDigits(part) ? 2 : 0)
  return rank(a) - rank(b) || (isDigits(a) ? compareDigits(a, b) : compareText(a, b))
}
