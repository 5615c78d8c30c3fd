import { parentPort } from 'node:worker_threads'
import type { ThreadReply } from './thread-pool.ts'

/** Called by the module of a worker thread: runs its requests, one after the other. */
export function answerThreadRequests<Request, Reply>(
  answer: (request: Request) => Reply | Promise<Reply>,
  /** Memory of a reply that its receiver gets instead of a copy. */
  moved: (reply: Reply) => ArrayBuffer[] = () => [],
): void {
  const port = parentPort
  if (port === null) throw new Error('this module runs in a worker thread only')
  const reply = (message: ThreadReply<Reply>) =>
    port.postMessage(message, 'reply' in message ? moved(message.reply) : [])
  port.on('message', async (request: Request) => {
    try {
      reply({ reply: await answer(request) })
    } catch (error) {
      reply({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
}
