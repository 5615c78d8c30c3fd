/** Draws a progress bar. */

const BAR_CELLS = 24

export function formatProgressBar(share: number): string {
  const part = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0))
  const cells = Math.round(part * BAR_CELLS)
  return `[${'#'.repeat(cells)}${'.'.repeat(BAR_CELLS - cells)}] ${String(Math.floor(part * 100)).padStart(3)}%`
}
