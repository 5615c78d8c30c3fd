import { useSyncExternalStore } from 'react'
import { queryClient } from '../../api/query-client.ts'
import { type CopyItem, type CopyOutcome, type CopyTarget, copyImages } from './copy-run.ts'

/** The copies of this browser tab. They continue while the console is open, whether a dialog shows them or not. */

export interface CopyRequest extends CopyTarget {
  /** Of the source. */
  readonly path: string
  readonly items: readonly CopyItem[]
}

export interface CopyRun {
  readonly id: number
  readonly request: CopyRequest
  /** Items that were tried. */
  readonly done: number
  /** It ends after the item that is being copied. */
  readonly isStopping: boolean
  /** A dialog shows it. */
  readonly isShown: boolean
  /** undefined while it runs. */
  readonly outcome: CopyOutcome | undefined
}

let runs: readonly CopyRun[] = []
let ids = 0
const stoppers = new Map<number, AbortController>()
const listeners = new Set<() => void>()

function setRuns(next: readonly CopyRun[]): void {
  runs = next
  for (const listener of listeners) listener()
}

const update = (id: number, part: Partial<CopyRun>): void =>
  setRuns(runs.map((run) => (run.id === id ? { ...run, ...part } : run)))

/** The browser asks before the window is closed: the requests come from it. */
const askBeforeUnload = (event: BeforeUnloadEvent) => event.preventDefault()

export function startCopy(request: CopyRequest): {
  readonly id: number
  readonly ended: Promise<CopyOutcome>
} {
  const id = ++ids
  const stopper = new AbortController()
  stoppers.set(id, stopper)
  addEventListener('beforeunload', askBeforeUnload)
  setRuns([...runs, { id, request, done: 0, isStopping: false, isShown: true, outcome: undefined }])
  const { items, repo } = request
  const ended = copyImages(items, request, {
    signal: stopper.signal,
    onProgress: (done) => update(id, { done }),
  }).then((outcome) => {
    update(id, { outcome })
    for (const key of ['tags', 'manifests', 'repo-summary'])
      void queryClient.invalidateQueries({ queryKey: [key, repo] })
    return outcome
  })
  const cleanUp = () => {
    stoppers.delete(id)
    if (stoppers.size === 0) removeEventListener('beforeunload', askBeforeUnload)
  }
  ended.then(cleanUp, cleanUp)
  return { id, ended }
}

export function stopCopy(id: number): void {
  stoppers.get(id)?.abort()
  update(id, { isStopping: true })
}

/** A dialog shows a run. Returns what to call when it no longer does: the run continues, and is forgotten if it has ended. */
export function showCopy(id: number): () => void {
  update(id, { isShown: true })
  return () => {
    if (runs.some((run) => run.id === id && run.outcome === undefined)) update(id, { isShown: false })
    else forgetCopy(id)
  }
}

export const forgetCopy = (id: number): void => setRuns(runs.filter((run) => run.id !== id))

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const read = () => runs

export const useCopyRuns = (): readonly CopyRun[] => useSyncExternalStore(subscribe, read)
