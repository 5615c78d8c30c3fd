import { type FieldViolation, unavailable } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { createThreadPool } from '../../runtime/workers/thread-pool.ts'
import { WorkerFailure } from '../../runtime/workers/worker-process.ts'

/** Checks READMEs away from the event loop: the worst of them takes half a second. */

/** One for the process: an idle thread ends by itself, and keeps no process from ending. */
const threads = createThreadPool<string, FieldViolation | undefined>(
  new URL('./readme-thread.ts', import.meta.url),
  {
    threadsMax: limits.readmeThreadsMax,
    msMax: limits.readmeCheckMsMax,
    heapMib: limits.readmeThreadHeapMib,
    idleMs: limits.readmeThreadIdleMs,
  },
)

/** As checkReadme. Throws code 14 where too many wait. */
export async function checkReadmeInThread(content: string): Promise<FieldViolation | undefined> {
  if (content === '') return undefined
  if (threads.counts().waiting >= limits.readmesQueuedMax)
    throw unavailable(
      `${limits.readmesQueuedMax} READMEs wait to be checked (readmesQueuedMax); try again later`,
      limits.readmeRetryMs,
    )
  try {
    return await threads.run(content)
  } catch (error) {
    if (!(error instanceof WorkerFailure)) throw error
    throw unavailable('the README could not be checked; try again', limits.readmeRetryMs, error)
  }
}
