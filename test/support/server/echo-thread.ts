import { serveThreadRequests } from '@berth/server/runtime/workers/serve-thread-requests.ts'

/** A worker thread for tests: echoes text, throws, dies, or never ends. */

serveThreadRequests((request: string) => {
  if (request === 'throw') throw new Error('as asked')
  if (request === 'exit') process.exit(3)
  // Not a loop, which would take a core from other tests.
  if (request === 'hang') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  return `${request} done`
})
