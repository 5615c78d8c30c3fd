import { isStreamMessage, receiveStreamReply, type StreamReply } from './process-streams.ts'
import type { WorkerMessage } from './worker-process.ts'

/** Called by the module of a worker process: answers its requests, one after the other, until the process that started it is gone. */
export function serveProcessRequests<Request, Reply>(
  handle: (request: Request) => Reply | Promise<Reply>,
): void {
  if (process.send === undefined) throw new Error('this module runs in a worker process only')
  const sendMessage = (message: WorkerMessage<Reply>) => process.send?.(message)
  process.on('message', async (message: Request | StreamReply) => {
    if (isStreamMessage(message)) return receiveStreamReply(message)
    const request = message as Request
    try {
      sendMessage({ reply: await handle(request) })
    } catch (error) {
      sendMessage({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.on('disconnect', () => process.exit())
  // Ctrl-C and service managers signal all processes together: the server decides when this one ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  sendMessage('ready')
}
