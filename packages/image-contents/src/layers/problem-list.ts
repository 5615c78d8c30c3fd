import type { ContentsProblem } from '../contents.ts'
import type { LayerLimits } from '../limits.ts'

/** Collects problems up to a limit: a hostile layer may have one for each of its files. */
export interface ProblemList {
  /** `path`: in the image, or '' for the image as a whole. */
  add(path: string, reason: string): void
  readonly all: readonly ContentsProblem[]
}

export function createProblemList({
  problemsMax,
  problemCharsMax,
}: Pick<LayerLimits, 'problemsMax' | 'problemCharsMax'>): ProblemList {
  const all: ContentsProblem[] = []
  let omitted = 0
  return {
    add(path, reason) {
      if (all.length < problemsMax)
        all.push({ path: printable(path, problemCharsMax), reason: printable(reason, problemCharsMax) })
      else omitted++
    },
    get all() {
      return omitted === 0
        ? all
        : [...all, { path: '', reason: `${omitted} further problems are not listed` }]
    },
  }
}

/** Control characters and directions of text would disguise what the problem says. */
function printable(text: string, charsMax: number): string {
  const clean = text.slice(0, charsMax + 1).replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
  return clean.length <= charsMax ? clean : `${clean.slice(0, charsMax - 1)}…`
}
