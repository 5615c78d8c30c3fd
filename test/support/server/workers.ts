import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { startPostgres } from '../database/postgres.ts'
import { eventually } from '../eventually.ts'
import { type Cleanup, runBerth, type Serving, serveBerth, temporaryDirectory } from './process.ts'

/** A server with workers, and a way to each of them. */
export interface ServerWithWorkers extends Serving {
  readonly organization: string
  /** Tokens of the owner of the organization. */
  readonly tokens: { readonly api: string; readonly registry: string }
  /** Settings with which `berth admin` finds the installation. */
  readonly settings: Readonly<Record<string, string>>
  /** An address whose connections all reach this worker. */
  origin(worker: number): Promise<string>
  /** The process that this worker has now. */
  pid(worker: number): number
  /** Waits for so many log lines that contain the text. */
  untilLogged(text: string, count?: number): Promise<void>
}

/** Connections that reach another worker are opened again: rotation reaches each one soon. */
const ATTEMPTS_MAX = 20

export async function startWithWorkers(
  t: Cleanup,
  engine: 'sqlite' | 'postgres',
  env: Readonly<Record<string, string>> = {},
): Promise<ServerWithWorkers> {
  const settings = {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_BASE_URL: 'http://berth.test',
    ...(engine === 'postgres' && { BERTH_DATABASE_URL: (await startPostgres(t)).url }),
  }
  const serving = await serveBerth(t, {
    BERTH_WORKERS: '2',
    BERTH_LISTEN: '127.0.0.1:0',
    BERTH_ACCESS_LOG: 'stderr',
    BERTH_ACCESS_LOG_PROBES: 'true',
    ...settings,
    ...env,
  })
  const lines = () =>
    serving
      .output()
      .stderr.split('\n')
      .filter((line) => line.startsWith('{'))
  // The base URL is a name that nothing resolves: the line of the supervisor has the address.
  const listening = lines().find((line) => line.includes('"msg":"listening"')) ?? '{}'
  const { url } = JSON.parse(listening) as { url: string }
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runBerth(t, ['admin', ...args], settings)
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }
  const { organization } = JSON.parse(await admin('bootstrap', '--json'))
  const tokens = { api: await admin('token'), registry: await admin('token', '--audience', 'berth.test') }
  const untilLogged = async (text: string, count = 1) => {
    await eventually(
      () => lines().filter((line) => line.includes(text)).length,
      (found) => found >= count,
    ).catch((error: unknown) =>
      assert.fail(`not logged ${count} times: ${text}\n${error}\n${serving.output().stderr}`),
    )
  }

  /** Which worker has a connection, as the access log says. */
  const workerOf = async (socket: Socket): Promise<number> => {
    const id = randomUUID()
    socket.write(`GET /healthz HTTP/1.1\r\nhost: berth.test\r\nx-request-id: ${id}\r\n\r\n`)
    for (let text = ''; !text.endsWith('\r\n\r\nok\n'); ) text += String(await once(socket, 'data'))
    await untilLogged(id)
    const line = lines().find((one) => one.includes(id)) ?? '{}'
    return (JSON.parse(line) as { worker: number }).worker
  }
  const connectTo = async (worker: number): Promise<Socket> => {
    const { hostname: host, port } = new URL(url)
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const socket = connect({ host, port: Number(port), noDelay: true, allowHalfOpen: true })
      await once(socket, 'connect')
      if ((await workerOf(socket)) === worker) return socket
      socket.destroy()
    }
    return assert.fail(`no connection reached worker ${worker}`)
  }
  let lastConnected: Promise<unknown> = Promise.resolve()
  const relayTo = async (worker: number, client: Socket) => {
    client.on('error', () => undefined)
    // One after the other, so that rotation reaches each worker.
    const connected = lastConnected.catch(() => undefined).then(() => connectTo(worker))
    lastConnected = connected
    const server = await connected
    server.removeAllListeners('data')
    server.on('error', () => client.destroy())
    client.on('close', () => server.destroy())
    client.pipe(server)
    server.pipe(client)
  }

  return {
    ...serving,
    url,
    organization: organization.uid,
    tokens,
    settings,
    untilLogged,
    async origin(worker) {
      const relay = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
        relayTo(worker, client).catch(() => client.destroy())
      })
      relay.listen(0, '127.0.0.1')
      await once(relay, 'listening')
      t.after(() => void relay.close())
      return `http://127.0.0.1:${(relay.address() as AddressInfo).port}`
    },
    pid(worker) {
      const started = lines().filter(
        (line) => line.includes('"msg":"a worker started"') && line.includes(`"worker":${worker},`),
      )
      return (JSON.parse(started.at(-1) ?? '{}') as { pid: number }).pid
    },
  }
}
