import { RestartRequiredError } from '../../config/setup-errors.ts'
import { version } from '../../config/version.ts'
import { adoptEnvironment } from '../../installation/environment.ts'
import { applyReloadableSettings } from '../../installation/reload.ts'
import { createLog } from '../../telemetry/log.ts'
import { connectToSupervisor, type WorkerLink } from '../../workers/worker-link.ts'
import { EXIT_UNREACHABLE, readConfigOrExit, reportFailure } from '../with-installation.ts'
import { serveNode } from './serve-node.ts'

/** The program of a worker process, which the supervisor starts (workers/supervisor.ts). */

async function serveWorker(link: WorkerLink): Promise<void> {
  const { number, dev, env, reloadedEnv, version: serverVersion } = link.assignment
  if (serverVersion !== version())
    throw new RestartRequiredError(
      `a worker cannot start: the installed program is version ${version()}, and this server runs ${serverVersion}. Restart the server`,
    )
  const adopted = adoptEnvironment(env)
  const started = 'config' in adopted ? adopted.config : readConfigOrExit()
  const reloaded = adoptEnvironment(reloadedEnv)
  const config = 'config' in reloaded ? applyReloadableSettings(started, reloaded.config) : started
  const log = createLog(config.logLevel, { worker: number })
  await serveNode({ config, dev, log, env, link, onReady: link.reportReady })
}

void reportFailure(async () => {
  const link = await connectToSupervisor()
  try {
    await serveWorker(link)
  } catch (error) {
    if (!(error instanceof RestartRequiredError)) throw error
    // The supervisor reports it, once for all attempts.
    await link.requireRestart(error.message)
    process.exitCode = EXIT_UNREACHABLE
  }
}).then(() => {
  // The channel to the supervisor would keep a process that could not start.
  if (process.exitCode !== undefined) process.exit()
})
