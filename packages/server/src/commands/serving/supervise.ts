import type { Config } from '../../installation/config.ts'
import { ownEnvironment, readEnvironment } from '../../installation/environment.ts'
import { lockDatabase } from '../../installation/installation.ts'
import { createLog } from '../../telemetry/log.ts'
import { startSupervisor } from '../../workers/supervisor.ts'
import { EXIT_UNREACHABLE } from '../with-installation.ts'
import { onStopSignals } from './stop-signals.ts'

/** Serves with several processes, which this one starts and supervises. */
export async function supervise(config: Config, dev: boolean): Promise<void> {
  const log = createLog(config.logLevel)
  let reload: () => void = () => undefined
  process.on('SIGHUP', () => {
    const read = readEnvironment()
    if ('config' in read) log.level = read.config.logLevel
    reload()
  })
  const started = readEnvironment()
  // The database may belong to a running server.
  const lock = await lockDatabase(config)
  const supervisor = await startSupervisor({
    config,
    dev,
    module: new URL('./worker.ts', import.meta.url),
    processEnv: ownEnvironment(),
    env: 'env' in started ? started.env : {},
    retryCode: EXIT_UNREACHABLE,
    log,
  })
  reload = supervisor.reload
  onStopSignals(log, { stop: supervisor.stop, stopNow: supervisor.stop })
  void supervisor.ready.then((notice) => process.stdout.write(notice))
  const code = await supervisor.ended
  lock?.release()
  process.exit(code)
}
