import { readConfig } from '@berth/server/installation/config.ts'
import { startBerth } from '@berth/server/main.ts'
import { createLog } from '@berth/server/telemetry/log.ts'

/**
 * A server that reads and matches images soon after another one that was killed, in a process that a test can kill. An argument after
 * `serve` is the time of its leases, milliseconds.
 */

const read = readConfig(process.env)
if ('problems' in read) throw new Error(read.problems.join('\n'))
const leaseMs = Number(process.argv[3] ?? '600')
const { addresses } = await startBerth(read.config, createLog('error'), {
  contents: { pollMs: 10, leaseMs, sweepIntervalMs: 200 },
  findingsPollMs: 10,
  queueLeaseMs: leaseMs,
})
process.stdout.write(`ready ${addresses.baseUrl}\n`)
