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
 * stand still meanwhile: it is suspended, or its event loop is blocked. The system keeps what arrives then, and timers fire before that is
 * read. So the time passes in parts, one after the other: a standstill counts as one of them, and the peer has the rest.
 */
export function startPeerTimeout(ms: number, expire: () => void): PeerTimeout {
  let left = PEER_TIMEOUT_PARTS
  const onPart = () => {
    left--
    if (left > 0) return
    left = PEER_TIMEOUT_PARTS
    expire()
  }
  const timer = setInterval(onPart, Math.ceil(ms / PEER_TIMEOUT_PARTS))
  return {
    refresh() {
      left = PEER_TIMEOUT_PARTS
      timer.refresh()
    },
    clear: () => clearInterval(timer),
  }
}

/**
 * Calls `decide` when what has arrived by now was read. After a standstill a timer fires before that: where a peer has no other chance, it
 * decides this way.
 */
export function afterReads(decide: () => void): void {
  setImmediate(decide)
}

interface Standstill {
  readonly lostMs: number
  /** Time of `activeMs` at its end. */
  readonly activeMs: number
}

/**
 * Returns a function that is called every `intervalMs`. It returns in milliseconds how long this process stood still within the last
 * `windowMs`, not counting the standstills themselves. A call that is late by some time means a standstill of that time.
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
    activeMs += Math.min(elapsedMs, intervalMs)
    if (elapsedMs > intervalMs) {
      standstills.push({ lostMs: elapsedMs - intervalMs, activeMs })
      lostMs += elapsedMs - intervalMs
    }
    for (let first = standstills[0]; first !== undefined; first = standstills[0]) {
      if (activeMs - first.activeMs <= windowMs) break
      standstills.shift()
      lostMs -= first.lostMs
    }
    return standstills.length === 0 ? 0 : Math.ceil(lostMs)
  }
}
