import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

/** Without fixed ports of the repository, ports that browsers block (up to 10080), and those that Linux chooses itself (from 32768). */
const PORT_MIN = 11_000
const PORT_END = 32_000

/**
 * A port of loopback that is free, and stays so until the caller listens: the system gives it to no connection, and the other processes
 * of a run of tests to no server.
 */
export async function freePort(): Promise<number> {
  const runDirectory = process.env['BERTH_TEST_RUN_DIRECTORY']
  for (;;) {
    const port = randomInt(PORT_MIN, PORT_END)
    try {
      if (runDirectory !== undefined) writeFileSync(join(runDirectory, `port-${port}`), '', { flag: 'wx' })
      const server = createServer().listen(port, '127.0.0.1')
      await once(server, 'listening')
      server.close()
      await once(server, 'close')
      return port
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (!['EEXIST', 'EADDRINUSE'].includes(code)) throw error
    }
  }
}
