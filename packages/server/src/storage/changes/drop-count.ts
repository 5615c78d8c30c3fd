/** Counts what was dropped because too much waited, so that many rows are one line of the log. */
export interface DropCount {
  add(): void
  /** Calls `onDropped` with the number since the last report, unless it is 0. */
  report(): void
}

export function createDropCount(onDropped: (count: number) => void): DropCount {
  let dropped = 0
  return {
    add() {
      dropped++
    },
    report() {
      if (dropped > 0) onDropped(dropped)
      dropped = 0
    },
  }
}
