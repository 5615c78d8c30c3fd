import { type FieldViolation, unavailable } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { createThreadPool } from '../../runtime/workers/thread-pool.ts'
import { WorkerFailure } from '../../runtime/workers/worker-process.ts'

/** Checks READMEs off the event loop: the worst case takes half a second. */

/** One pool per process. Idle threads end, and do not keep the process alive. */
const threads = createThreadPool<string, FieldViolation | undefined>(
  new URL('./readme-thread.ts', import.meta.url),
  {
    threadsMax: limits.readmeThreadsMax,
    msMax: limits.readmeCheckMsMax,
    heapMib: limits.readmeThreadHeapMib,
    idleMs: limits.readmeThreadIdleMs,
  },
)

/** Like checkReadme. Throws code 14 if the queue is full. */
export async function checkReadmeInThread(content: string): Promise<FieldViolation | undefined> {
  if (content === '') return undefined
  if (threads.counts().waiting >= limits.readmesQueuedMax)
    throw unavailable(
      `${limits.readmesQueuedMax} READMEs are already waiting to be checked (readmesQueuedMax); retry later`,
      limits.readmeRetryMs,
    )
  try {
    return await threads.run(content)
  } catch (error) {
    if (!(error instanceof WorkerFailure)) throw error
    throw unavailable('the README could not be checked; retry later', limits.readmeRetryMs, error)
  }
}
