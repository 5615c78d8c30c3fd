import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../scripts/free-port.ts'
import { PATIENCE_MS } from '../eventually.ts'
import { type Cleanup, temporaryDirectory } from '../server/process.ts'

/** Debian's `docker-registry`: a registry by other people, without tokens and without an API for referrers. */

const PROGRAM = '/usr/bin/docker-registry'

/** For `skip`: why there is none, false where there is one. */
export const withoutDockerRegistry = existsSync(PROGRAM) ? false : 'docker-registry is not here'

/** Its host. */
export async function startDockerRegistry(t: Cleanup): Promise<string> {
  const directory = temporaryDirectory(t)
  const host = `127.0.0.1:${await freePort()}`
  const config = join(directory, 'config.yml')
  writeFileSync(
    config,
    JSON.stringify({
      version: 0.1,
      log: { level: 'error' },
      storage: { filesystem: { rootdirectory: join(directory, 'data') }, delete: { enabled: true } },
      http: { addr: host },
    }),
  )
  const child = spawn(PROGRAM, ['serve', config], { stdio: 'ignore', cwd: directory, env: {} })
  t.after(async () => {
    child.kill()
    if (child.exitCode === null) await once(child, 'close')
  })
  const untilMs = Date.now() + PATIENCE_MS
  while (!(await fetch(`http://${host}/v2/`).catch(() => undefined))?.ok) {
    if (Date.now() > untilMs) throw new Error('docker-registry does not answer')
    await sleep(50)
  }
  return host
}
