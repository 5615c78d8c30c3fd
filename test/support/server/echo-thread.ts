import { serveThreadRequests } from '@berth/server/runtime/workers/serve-thread-requests.ts'

/** A worker thread for tests: echoes text, throws, dies, or never ends. */

serveThreadRequests((request: string) => {
  if (request === 'throw') throw new Error('as asked')
  if (request === 'exit') process.exit(3)
  if (request === 'hang') for (;;);
  return `${request} done`
})
