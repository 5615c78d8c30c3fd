import { parentPort } from 'node:worker_threads'
import type { ThreadReply } from './thread-pool.ts'

/** Called by the module of a worker thread: runs its requests, one after the other. */
export function serveThreadRequests<Request, Reply>(
  handle: (request: Request) => Reply | Promise<Reply>,
  /** Memory of a reply that its receiver gets instead of a copy. */
  transferListOf: (reply: Reply) => ArrayBuffer[] = () => [],
): void {
  const port = parentPort
  if (port === null) throw new Error('this module runs in a worker thread only')
  const reply = (message: ThreadReply<Reply>) =>
    port.postMessage(message, 'reply' in message ? transferListOf(message.reply) : [])
  port.on('message', async (request: Request) => {
    try {
      reply({ reply: await handle(request) })
    } catch (error) {
      reply({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
}
