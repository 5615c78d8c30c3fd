import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { CreateBucketCommand, ListBucketsCommand, S3Client } from '@aws-sdk/client-s3'
import type { BlobSettings } from '@berth/server/registry/blobs/open.ts'
import { freePort } from '../../../scripts/free-port.ts'
import { PATIENCE_MS } from '../eventually.ts'

/**
 * A real S3 server for tests: the one at BERTH_TEST_S3_URL, or a process of its own of whatever the machine has. The credentials
 * are in the environment, where the server under test looks for them too.
 */
export interface S3Server {
  readonly url: string
  /** Makes an empty bucket; its settings and the same as variables. */
  bucket(): Promise<{ readonly settings: BlobSettings; readonly env: Readonly<Record<string, string>> }>
  /** Of this process only: the server goes away, and comes back with what it had. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Sends a signal to the process. */
  signal(signal: NodeJS.Signals): void
  stop(): Promise<void>
}

/** Where the server runs: on loopback, or where this command runs it, at this address. */
export interface S3Place {
  readonly address: string
  command(): readonly string[]
}

interface Program {
  readonly path: string
  /** Whether what is stored is there after the process has ended. */
  readonly lasts: boolean
  argumentsFor(host: string, port: number, directory: string): readonly string[]
}

const programs: Readonly<Record<string, Omit<Program, 'path'>>> = {
  versitygw: {
    lasts: true,
    argumentsFor: (host, port, directory) => ['--port', `${host}:${port}`, '--quiet', 'posix', directory],
  },
  moto_server: { lasts: false, argumentsFor: (host, port) => ['-H', host, '-p', String(port)] },
}

const given = process.env['BERTH_TEST_S3_URL']
const program = given === undefined ? findProgram() : undefined

/** Why tests with an S3 server are skipped; false where they are not. */
export const withoutS3: string | false =
  given === undefined && program === undefined ? 'no S3 server on this machine' : false

/** Why tests are skipped that end the server, or look at whether it checks credentials. */
export const withoutOwnS3: string | false = program?.lasts === true ? false : 'no S3 server of its own'

function findProgram(): Program | undefined {
  const directories = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    // Where `go install` puts what it makes.
    join(process.env['GOPATH'] || join(homedir(), 'go'), 'bin'),
  ]
  for (const [name, how] of Object.entries(programs)) {
    const path = directories.map((directory) => join(directory, name)).find((file) => existsSync(file))
    if (path !== undefined) return { path, ...how }
  }
  return undefined
}

/** The server with the credentials of the environment, which it puts there if there are none. */
export async function startS3(place?: S3Place): Promise<S3Server> {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'berth-test'
  process.env['AWS_SECRET_ACCESS_KEY'] ??= randomBytes(16).toString('hex')
  const directory = mkdtempSync(join(tmpdir(), 'berth-s3-'))
  mkdirSync(join(directory, 'buckets'))
  const port = given === undefined ? await freePort() : 0
  const host = place?.address ?? '127.0.0.1'
  const url = given ?? `http://${host}:${port}`
  let running: ChildProcess | undefined
  const client = new S3Client({ endpoint: url, region: 'us-east-1', forcePathStyle: true, maxAttempts: 1 })

  const start = async () => {
    if (program === undefined) return
    const [command = '', ...args] = [
      ...(place?.command() ?? []),
      program.path,
      ...program.argumentsFor(host, port, join(directory, 'buckets')),
    ]
    running = spawn(command, args, {
      cwd: directory,
      stdio: 'ignore',
      env: {
        ...process.env,
        ROOT_ACCESS_KEY: process.env['AWS_ACCESS_KEY_ID'],
        ROOT_SECRET_KEY: process.env['AWS_SECRET_ACCESS_KEY'],
        VGW_IAM_DIR: directory,
      },
    })
    const deadline = Date.now() + PATIENCE_MS
    for (;;) {
      try {
        await client.send(new ListBucketsCommand({}))
        return
      } catch (error) {
        if (Date.now() > deadline || running.exitCode !== null) throw error
        await pause(30)
      }
    }
  }
  const kill = async () => {
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const ended = once(running, 'close')
    running.kill('SIGCONT')
    running.kill('SIGKILL')
    await ended
  }
  await start()
  return {
    url,
    kill,
    start,
    signal: (signal) => void running?.kill(signal),
    async bucket() {
      const bucket = `berth-${randomBytes(6).toString('hex')}`
      await client.send(new CreateBucketCommand({ Bucket: bucket }))
      const settings: BlobSettings = {
        bucket,
        endpoint: url,
        region: undefined,
        prefix: 'images/',
        pathStyle: true,
        redirect: false,
      }
      const env = {
        BERTH_BLOBS_S3_BUCKET: bucket,
        BERTH_BLOBS_S3_ENDPOINT: url,
        BERTH_BLOBS_S3_PREFIX: 'images',
      }
      return { settings, env }
    },
    async stop() {
      client.destroy()
      await kill()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
