import { type FileHandle, open, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { rootOf } from '../../api/uid.ts'
import { runShared } from '../../pipeline/request/request-context.ts'
import type { BodyStream } from '../../port/http.ts'
import type { FeedJob } from './build-feed.ts'
import type { FeedBuilder } from './feed-builder.ts'
import type { CachedFeed, Drafts, FeedCache } from './feed-cache.ts'

/** Serves published feeds: concurrent requests share one build, and long builds are sent while they run. */

export type PublishedFeedRequest = Omit<FeedJob, 'file' | 'compressed'>

export interface ServedFeed {
  /** Undefined while it is being built. */
  readonly bytes: number | undefined
  readonly isCompressed: boolean
  readonly body: BodyStream
}

export interface PublishedFeeds {
  /**
   * `name`: derived from the inputs, unique for each content. Returns undefined if there is nothing to publish. Rejects if the build
   * fails.
   */
  serve(
    name: string,
    request: PublishedFeedRequest,
    wants: { readonly compressed: boolean },
  ): Promise<ServedFeed | undefined>
}

export interface PublishedFeedsOptions {
  readonly cache: FeedCache
  readonly builder: FeedBuilder
  /** A response starts after this time at the latest, even if the file is incomplete. */
  readonly waitMs?: number
}

const WAIT_MS = 2000
/** Interval between checks whether a file has grown. */
const POLL_MS = 50
const CHUNK_BYTES = 64 * 1024

interface FeedBuild {
  readonly drafts: Drafts
  readonly done: Promise<boolean>
}

export function createPublishedFeeds({
  cache: files,
  builder: processes,
  waitMs = WAIT_MS,
}: PublishedFeedsOptions): PublishedFeeds {
  const builds = new Map<string, Promise<FeedBuild>>()

  const buildOf = (name: string, request: PublishedFeedRequest): Promise<FeedBuild> => {
    const running = builds.get(name)
    if (running !== undefined) return running
    const started = runShared(() => startBuild(name, request), rootOf(request.group))
    builds.set(name, started)
    const end = () => void builds.delete(name)
    started.then(({ done: made }) => made.then(end, end), end)
    return started
  }

  const startBuild = async (name: string, request: PublishedFeedRequest): Promise<FeedBuild> => {
    const drafts = await files.createDrafts(name, isText(request))
    const made = processes.build({ ...request, ...drafts }).then(
      async (hasContent) => {
        if (hasContent) await files.commit(name, drafts)
        return hasContent
      },
      async (error: unknown) => {
        for (const path of [drafts.file, drafts.compressed])
          if (path !== undefined) await rm(path, { force: true })
        throw error
      },
    )
    // The requester may be gone.
    made.catch(() => {})
    return { drafts, done: made }
  }

  /** Sends the cached file, or the one that is being built. A file that was evicted meanwhile is built again. */
  async function* body(name: string, request: PublishedFeedRequest, isCompressed: boolean): BodyStream {
    const stored = await files.find(name)
    const file = stored && (isCompressed ? stored.compressed?.file : stored.file)
    const opened = file === undefined ? undefined : await open(file).catch(() => undefined)
    if (opened !== undefined) {
      yield* chunksOf(opened, async () => true)
      return
    }
    const { drafts, done: made } = await buildOf(name, request)
    const draft = (isCompressed ? drafts.compressed : undefined) ?? drafts.file
    const growing = await open(draft).catch(() => undefined)
    if (growing === undefined) {
      // The build completed in this moment.
      await made
      yield* body(name, request, isCompressed)
      return
    }
    yield* chunksOf(growing, () => Promise.race([made.then(() => true), pause(POLL_MS, false)]))
  }

  return {
    async serve(name, request, accepts) {
      const isCompressed = accepts.compressed && isText(request)
      const toServedFeed = (stored: CachedFeed | undefined): ServedFeed => ({
        bytes: isCompressed ? stored?.compressed?.bytes : stored?.bytes,
        isCompressed,
        body: body(name, request, isCompressed),
      })
      const stored = await files.find(name)
      if (stored !== undefined) return toServedFeed(stored)
      const { done: made } = await buildOf(name, request)
      const waiting = new AbortController()
      const timeout = pause(waitMs, 'late' as const, { signal: waiting.signal }).catch(() => 'late' as const)
      const outcome = await Promise.race([made, timeout]).finally(() => waiting.abort())
      if (outcome === false) return undefined
      return toServedFeed(outcome === true ? await files.find(name) : undefined)
    },
  }
}

function isText({ feed }: PublishedFeedRequest): boolean {
  return typeof feed !== 'string' || !feed.endsWith('.zip')
}

/** `isWhole`: called at the end of the current content; waits a short time for more. */
async function* chunksOf(file: FileHandle, isWhole: () => Promise<boolean>): BodyStream {
  try {
    for (let wasWhole = false; ; ) {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES)
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead)
      else if (wasWhole) return
      else wasWhole = await isWhole()
    }
  } finally {
    await file.close()
  }
}
