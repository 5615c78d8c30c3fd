/** Parts of a time in which a peer has to do something. */
export const PEER_TIMEOUT_PARTS = 4

/** The time in which a peer has to do something. */
export interface PeerTimeout {
  /** Starts the time again. */
  refresh(): void
  clear(): void
}

/**
 * Calls `expire` each time that `ms` have passed in which a peer has to send or read something, until it is cleared. This process may
 * stand still meanwhile: it is suspended, or its event loop is blocked. The system keeps what arrives then, and timers may fire before that is
 * read. So the time has parts: a standstill counts as one of them, and the peer has the rest. After the last part `expire` is called only when
 * pending data was read. If the last part is late by more than a part, the peer gets one more.
 */
export function startPeerTimeout(
  ms: number,
  expire: () => void,
  clock: () => number = () => performance.now(),
): PeerTimeout {
  const partMs = Math.ceil(ms / PEER_TIMEOUT_PARTS)
  let left = PEER_TIMEOUT_PARTS
  let lastPartStartMs = 0
  const expireIfOver = () => {
    if (left > 0) return
    left = PEER_TIMEOUT_PARTS
    expire()
  }
  const onPart = () => {
    left--
    if (left === 0 && clock() - lastPartStartMs > 2 * partMs) left = 1
    if (left === 1) lastPartStartMs = clock()
    if (left === 0) afterPendingReads(expireIfOver)
  }
  const timer = setInterval(onPart, partMs)
  return {
    refresh() {
      left = PEER_TIMEOUT_PARTS
      timer.refresh()
    },
    clear() {
      left = PEER_TIMEOUT_PARTS
      clearInterval(timer)
    },
  }
}

/** Calls `decide` after the event loop has read all data that has arrived. After a standstill a timer may fire before that. */
export function afterPendingReads(decide: () => void): void {
  setImmediate(decide)
}

interface Standstill {
  readonly lostMs: number
  /** Time of `activeMs` at its end. */
  readonly activeMs: number
}

/**
 * Returns a function that is called at least every `intervalMs`. It returns in milliseconds how long this process stood still within the last
 * `windowMs`, not counting the standstills themselves. A call that is late means a standstill. If it is late by more than `intervalMs`, all of
 * the time since the previous call counts: it is not known when the standstill started.
 */
export function createStandstillMeter(
  intervalMs: number,
  windowMs: number,
  clock: () => number = () => performance.now(),
): () => number {
  const standstills: Standstill[] = []
  let lastMs = clock()
  let activeMs = 0
  let lostMs = 0
  return () => {
    const nowMs = clock()
    const elapsedMs = nowMs - lastMs
    lastMs = nowMs
    const lateMs = elapsedMs - intervalMs
    const newLostMs = lateMs > intervalMs ? elapsedMs : Math.max(0, lateMs)
    activeMs += elapsedMs - newLostMs
    if (newLostMs > 0) {
      standstills.push({ lostMs: newLostMs, activeMs })
      lostMs += newLostMs
    }
    for (let first = standstills[0]; first !== undefined; first = standstills[0]) {
      if (activeMs - first.activeMs <= windowMs) break
      standstills.shift()
      lostMs -= first.lostMs
    }
    return standstills.length === 0 ? 0 : Math.ceil(lostMs)
  }
}
