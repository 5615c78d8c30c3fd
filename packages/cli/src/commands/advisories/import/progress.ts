import type { ImportSummary } from '@berth/advisory-formats/import/import-summary.ts'
import type { Output } from '../../../output/output.ts'
import { formatProgressBar } from '../../../output/progress-bar.ts'

/** Progress of an import in bytes, because the number of documents is not known in advance. */
export interface Progress {
  /** Adds bytes to the expected total. */
  addExpected(bytes: number): void
  /** Adds bytes that were read. */
  addRead(bytes: number): void
  showDownload(name: string, bytes: number, total: number): void
  show(): void
}

const MIB = 1024 * 1024
/** Minimum interval between two updates. */
const DISPLAY_INTERVAL_MS = 100

export function createProgress(output: Output, summary: ImportSummary): Progress {
  let [expected, done, shownMs] = [0, 0, 0]
  const showThrottled = (share: number, what: string) => {
    if (performance.now() - shownMs < DISPLAY_INTERVAL_MS) return
    shownMs = performance.now()
    output.progress(`${formatProgressBar(share)} ${what}`)
  }
  return {
    addExpected(bytes) {
      expected += bytes
    },
    addRead(bytes) {
      done += bytes
    },
    showDownload(name, bytes, total) {
      const size = total === 0 ? '' : ` of ${(total / MIB).toFixed(1)}`
      showThrottled(
        total === 0 ? 0 : bytes / total,
        `downloading ${name}: ${(bytes / MIB).toFixed(1)}${size} MiB`,
      )
    },
    show() {
      const { documents, rejected } = summary.total()
      showThrottled(done / expected, `${documents} documents${rejected > 0 ? `, ${rejected} rejected` : ''}`)
    },
  }
}
