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
