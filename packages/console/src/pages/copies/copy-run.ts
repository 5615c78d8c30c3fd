import { BerthError, type CopyImageResponse } from '@berth/client'
import { api } from '../../api/client.ts'
import { UNAUTHENTICATED } from '../../api/http-status.ts'
import { messageOf } from '../../api/query-client.ts'

/** Copies images one by one: each is a request, and one that fails stops no other. */

export interface CopyItem {
  /** Tag or digest in the source. */
  readonly reference: string
  /** Tag at the destination; '' for none. */
  readonly tag: string
}

export interface CopyTarget {
  /** uid of the source. */
  readonly source: string
  /** uid of the destination. */
  readonly repo: string
  readonly includeReferrers: boolean
  readonly overwrite: boolean
}

export interface CopyOutcome {
  readonly copied: readonly CopyImageResponse[]
  readonly failed: readonly {
    readonly item: CopyItem
    readonly reason: string
    readonly failure: unknown
  }[]
  /** Not tried: the user stopped, or the server does not respond. */
  readonly left: readonly CopyItem[]
}

/** No response, or the session has ended: the next request would fail as well. */
const endsRun = (failure: unknown): boolean =>
  failure instanceof BerthError && (failure.status === 0 || failure.status === UNAUTHENTICATED)

export async function copyImages(
  items: readonly CopyItem[],
  { source, repo, includeReferrers, overwrite }: CopyTarget,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (done: number) => void },
): Promise<CopyOutcome> {
  const copied: CopyImageResponse[] = []
  const failed: CopyOutcome['failed'][number][] = []
  let left = [...items]
  for (const [at, item] of items.entries()) {
    if (signal.aborted) break
    onProgress(at)
    left = items.slice(at + 1)
    try {
      // Not aborted: a copy that the server has started is counted.
      copied.push(
        await api.imageCopies.copyImage({
          uid: repo,
          sourceUid: source,
          ...item,
          includeReferrers,
          overwrite,
        }),
      )
    } catch (failure) {
      failed.push({ item, reason: messageOf(failure), failure })
      if (endsRun(failure)) break
    }
  }
  onProgress(items.length - left.length)
  return { copied, failed, left }
}
