import { type FileHandle, open, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { runForAll } from '../../core/request-context.ts'
import type { BodyStream } from '../../http.ts'
import type { Drafts, FeedFiles, StoredFeed } from './feed-files.ts'
import type { FeedProcesses } from './feed-processes.ts'
import type { FeedJob } from './make-feed.ts'

/** Feeds as answers: each is made once, whoever asks for it meanwhile, and sent while it is being made when that takes long. */

export type FeedRequest = Omit<FeedJob, 'file' | 'compressed'>

export interface ServedFeed {
  /** Undefined while it is being made. */
  readonly bytes: number | undefined
  readonly isCompressed: boolean
  readonly body: BodyStream
}

export interface Feeds {
  /**
   * `name`: what it is made of, which no other feed has. Undefined when there is nothing to publish. Rejects when it cannot be
   * made.
   */
  serve(
    name: string,
    request: FeedRequest,
    wants: { readonly compressed: boolean },
  ): Promise<ServedFeed | undefined>
}

export interface FeedsOptions {
  readonly files: FeedFiles
  readonly processes: FeedProcesses
  /** An answer begins at the latest after so long, whole or not. */
  readonly waitMs?: number
}

const WAIT_MS = 2000
/** Between two looks whether a file has grown. */
const LOOK_MS = 50
const PIECE_BYTES = 64 * 1024

interface Making {
  readonly drafts: Drafts
  readonly made: Promise<boolean>
}

export function publishedFeeds({ files, processes, waitMs = WAIT_MS }: FeedsOptions): Feeds {
  const makings = new Map<string, Promise<Making>>()

  const makingOf = (name: string, request: FeedRequest): Promise<Making> => {
    const running = makings.get(name)
    if (running !== undefined) return running
    const begun = runForAll(() => begin(name, request))
    makings.set(name, begun)
    const end = () => void makings.delete(name)
    begun.then(({ made }) => made.then(end, end), end)
    return begun
  }

  const begin = async (name: string, request: FeedRequest): Promise<Making> => {
    const drafts = await files.drafts(name, isText(request))
    const made = processes.make({ ...request, ...drafts }).then(
      async (hasContent) => {
        if (hasContent) await files.keep(name, drafts)
        return hasContent
      },
      async (error: unknown) => {
        for (const path of [drafts.file, drafts.compressed])
          if (path !== undefined) await rm(path, { force: true })
        throw error
      },
    )
    // Whoever asked may be gone.
    made.catch(() => {})
    return { drafts, made }
  }

  /** What is there, or else what is being made. Of a file that was thrown away meanwhile another is made. */
  async function* body(name: string, request: FeedRequest, isCompressed: boolean): BodyStream {
    const stored = await files.find(name)
    const file = stored && (isCompressed ? stored.compressed?.file : stored.file)
    const opened = file === undefined ? undefined : await open(file).catch(() => undefined)
    if (opened !== undefined) {
      yield* piecesOf(opened, async () => true)
      return
    }
    const { drafts, made } = await makingOf(name, request)
    const draft = (isCompressed ? drafts.compressed : undefined) ?? drafts.file
    const growing = await open(draft).catch(() => undefined)
    if (growing === undefined) {
      // Made in this very moment.
      await made
      yield* body(name, request, isCompressed)
      return
    }
    yield* piecesOf(growing, () => Promise.race([made.then(() => true), pause(LOOK_MS, false)]))
  }

  return {
    async serve(name, request, wants) {
      const isCompressed = wants.compressed && isText(request)
      const answer = (stored: StoredFeed | undefined): ServedFeed => ({
        bytes: isCompressed ? stored?.compressed?.bytes : stored?.bytes,
        isCompressed,
        body: body(name, request, isCompressed),
      })
      const stored = await files.find(name)
      if (stored !== undefined) return answer(stored)
      const { made } = await makingOf(name, request)
      const waiting = new AbortController()
      const late = pause(waitMs, 'late' as const, { signal: waiting.signal }).catch(() => 'late' as const)
      const outcome = await Promise.race([made, late]).finally(() => waiting.abort())
      if (outcome === false) return undefined
      return answer(outcome === true ? await files.find(name) : undefined)
    },
  }
}

function isText({ feed }: FeedRequest): boolean {
  return typeof feed !== 'string' || !feed.endsWith('.zip')
}

/** `isWhole`: asked at the end of what there is; waits a little while it may still grow. */
async function* piecesOf(file: FileHandle, isWhole: () => Promise<boolean>): BodyStream {
  try {
    for (let wasWhole = false; ; ) {
      const buffer = Buffer.allocUnsafe(PIECE_BYTES)
      const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES)
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead)
      else if (wasWhole) return
      else wasWhole = await isWhole()
    }
  } finally {
    await file.close()
  }
}
