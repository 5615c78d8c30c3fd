import { readConfig } from '@berth/server/installation/config.ts'
import { startBerth } from '@berth/server/main.ts'
import { createLog } from '@berth/server/telemetry/log.ts'

/** A server that reads and matches images soon after another one that was killed, in a process that a test can kill. */

const read = readConfig(process.env)
if ('problems' in read) throw new Error(read.problems.join('\n'))
const { addresses } = await startBerth(read.config, createLog('error'), {
  contents: { pollMs: 10, leaseMs: 600, sweepIntervalMs: 200 },
  findingsPollMs: 10,
  queueLeaseMs: 600,
})
process.stdout.write(`ready ${addresses.baseUrl}\n`)
