import type { Config } from '../../installation/config.ts'
import { readEnvironment } from '../../installation/environment.ts'
import { createLog } from '../../telemetry/log.ts'
import { serveNode } from './serve-node.ts'

/** Serves with this process alone. */
export async function serveAlone(config: Config, dev: boolean): Promise<void> {
  const started = readEnvironment()
  await serveNode({
    config,
    dev,
    log: createLog(config.logLevel),
    env: 'env' in started ? started.env : {},
    onReady: (notice) => process.stdout.write(notice),
  })
}
