import { adoptEnvironment, readEnvironment } from '../../installation/environment.ts'
import { applyReloadableSettings } from '../../installation/reload.ts'
import { createLog } from '../../telemetry/log.ts'
import { connectToSupervisor } from '../../workers/worker-link.ts'
import { readConfigOrExit, reportFailure } from '../with-installation.ts'
import { serveNode } from './serve-node.ts'

/** The program of a worker process, which the supervisor starts (workers/supervisor.ts). */

await reportFailure(async () => {
  const link = await connectToSupervisor()
  const { number, isLater, dev, env } = link.assignment
  const adopted = adoptEnvironment(env)
  const started = 'config' in adopted ? adopted.config : readConfigOrExit()
  // What a reload has changed since the server started applies to later workers, too.
  const now = isLater ? readEnvironment() : adopted
  const config = 'config' in now ? applyReloadableSettings(started, now.config) : started
  const log = createLog(config.logLevel, { worker: number })
  await serveNode({ config, dev, log, env, link, onReady: link.reportReady })
})
// The channel to the supervisor would keep a process that could not start.
if (process.exitCode !== undefined) process.exit()
