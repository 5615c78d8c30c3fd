import type { ImportSummary } from '../../vulnerabilities/feeds/import-summary.ts'
import type { Output } from '../client/output.ts'
import { bar } from '../client/progress-bar.ts'

/** How far an import is: by the bytes of what it reads, which are known before their documents are. */
export interface Progress {
  /** So many more bytes are to be gone through. */
  expect(bytes: number): void
  /** So many more were. */
  read(bytes: number): void
  fetched(name: string, bytes: number, total: number): void
  show(): void
}

const MIB = 1024 * 1024
/** As often as somebody can read it. */
const SHOWN_EVERY_MS = 100

export function progressIn(output: Output, summary: ImportSummary): Progress {
  let [expected, done, shownMs] = [0, 0, 0]
  const say = (share: number, what: string) => {
    if (performance.now() - shownMs < SHOWN_EVERY_MS) return
    shownMs = performance.now()
    output.progress(`${bar(share)} ${what}`)
  }
  return {
    expect(bytes) {
      expected += bytes
    },
    read(bytes) {
      done += bytes
    },
    fetched(name, bytes, total) {
      const size = total === 0 ? '' : ` of ${(total / MIB).toFixed(1)}`
      say(total === 0 ? 0 : bytes / total, `fetching ${name}: ${(bytes / MIB).toFixed(1)}${size} MiB`)
    },
    show() {
      const { documents, rejected } = summary.total()
      say(done / expected, `${documents} documents${rejected > 0 ? `, ${rejected} rejected` : ''}`)
    },
  }
}
