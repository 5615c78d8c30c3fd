import { readConfig } from '@berth/server/installation/config.ts'
import { startBerth } from '@berth/server/main.ts'
import { createLog } from '@berth/server/telemetry/log.ts'

/** A server that collects without a pause and without a grace, in a process that a test can kill. */

const read = readConfig(process.env)
if ('problems' in read) throw new Error(read.problems.join('\n'))
const { addresses } = await startBerth(
  { ...read.config, gcIntervalMs: 1, gcGraceMs: 0 },
  createLog('error'),
  { garbageCollection: { pollMs: 10, leaseMs: 300 } },
)
process.stdout.write(`ready ${addresses.baseUrl}\n`)
