import { type SigningAlgorithm, signingAlgorithms } from './signing-key-rows.ts'

/** The choice of the algorithm of the next signing key. */
export interface NextAlgorithms {
  /** Returns the configured algorithm; without one, that of the newest key, and for a first key the default. */
  next(newest: SigningAlgorithm | undefined): SigningAlgorithm
  /** Reports whether a key of the configured algorithm must follow the newest key now. */
  requireChange(newest: SigningAlgorithm | undefined): boolean
  /** Called when there is a key of the configured algorithm. */
  settle(): void
}

export function nextAlgorithms(configured: SigningAlgorithm | undefined): NextAlgorithms {
  // Once per process: nodes with different settings, as during a restart one by one, must not replace each other's keys forever.
  let isSettled = configured === undefined
  return {
    next: (newest) => configured ?? newest ?? signingAlgorithms[0],
    requireChange(newest) {
      const isChange = !isSettled && newest !== configured
      if (!isChange) isSettled = true
      return isChange
    },
    settle() {
      isSettled = true
    },
  }
}
