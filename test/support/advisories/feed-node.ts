import { limits } from '@berth/server/config/limits.ts'
import { readConfig } from '@berth/server/installation/config.ts'
import { startBerth } from '@berth/server/main.ts'
import { createLog } from '@berth/server/telemetry/log.ts'

/** A server that looks after feeds and retention in seconds instead of minutes, in a process of its own: one that can be killed. */

const [leaseMs = '1000', bounds = '{}'] = process.argv.slice(2)
const read = readConfig(process.env)
if ('problems' in read) throw new Error(read.problems.join('\n'))
const berth = await startBerth(read.config, createLog('error'), {
  retention: { pollMs: 50, leaseMs: Number(leaseMs) },
  feeds: { pollMs: 50, leaseMs: Number(leaseMs), bounds: { ...limits, ...JSON.parse(bounds) } },
})
process.once('SIGTERM', () => void berth.stop())
process.stdout.write(`ready ${berth.addresses.baseUrl}\n`)
