import { readFileSync } from 'node:fs'

/**
 * Preloaded into a node (`--import`): shifts its wall clock by the milliseconds in the file BERTH_TEST_CLOCK_FILE, as an operator or NTP does.
 * The monotonic clock stays right, as it does then.
 */

const RealDate = Date
const file = process.env['BERTH_TEST_CLOCK_FILE'] ?? ''
const POLL_MS = 100
let shiftMs = 0

setInterval(() => {
  try {
    shiftMs = Number(readFileSync(file, 'utf8'))
  } catch {
    shiftMs = 0
  }
}, POLL_MS).unref()

class ShiftedDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(RealDate.now() + shiftMs)
    else super(...(given as [number]))
  }

  static override now(): number {
    return RealDate.now() + shiftMs
  }
}
globalThis.Date = ShiftedDate as DateConstructor
