import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { version } from '../../config/version.ts'
import type { Config } from '../../installation/config.ts'
import { ownEnvironment, readEnvironment } from '../../installation/environment.ts'
import { lockDatabase } from '../../installation/installation.ts'
import { releaseStartMemory } from '../../runtime/start-memory.ts'
import { createLog } from '../../telemetry/log.ts'
import { startSupervisor } from '../../workers/supervisor.ts'
import { EXIT_UNREACHABLE } from '../with-installation.ts'
import { onReloadSignals } from './reload-signals.ts'
import { endBySignal, onStopSignals } from './stop-signals.ts'

/** Serves with several processes, which this one starts and supervises. */
export async function supervise(config: Config, dev: boolean): Promise<void> {
  const log = createLog(config.logLevel)
  const startReloading = onReloadSignals()
  const started = readEnvironment()
  // The database may belong to a running server.
  const lock = await lockDatabase(config)
  const supervisor = await startSupervisor({
    config,
    dev,
    version: version(),
    module: new URL('./worker.ts', import.meta.url),
    processEnv: { ...ownEnvironment(), ...compileCache() },
    env: 'env' in started ? started.env : {},
    retryCode: EXIT_UNREACHABLE,
    log,
  })
  startReloading(() => {
    const read = readEnvironment()
    if ('config' in read) log.level = read.config.logLevel
    supervisor.reload('env' in read ? { env: read.env } : read)
  })
  onStopSignals(log, { stop: supervisor.stop, stopNow: supervisor.stop })
  void supervisor.ready.then((notice) => {
    process.stdout.write(notice)
    releaseStartMemory(supervisor.isBusy, (err) =>
      log.warn({ err }, 'the memory of the start was not released'),
    )
  })
  const end = await supervisor.ended
  lock?.release()
  if ('code' in end) process.exit(end.code)
  endBySignal(end.signal)
}

/** Lets workers use the compile cache of this process. Its directory is below the one that the variable names. */
function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const directory = getCompileCacheDir()
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: dirname(directory) }
}
