import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInThread } from '../cli/command-threads.ts'
import { isOnCitus } from '../database/citus-suites.ts'

/** The program itself: servers in processes, short commands in threads. */

/** What a test, a suite or a file offers to clean up behind it. */
export interface Cleanup {
  after(work: () => void | Promise<void>): unknown
}

/** For suites, whose hooks clean up behind themselves alone: run it in `after`. */
export function cleanups(): Cleanup & { run(): Promise<void> } {
  const works: (() => void | Promise<void>)[] = []
  return {
    after: (work) => works.unshift(work),
    async run() {
      for (const work of works.splice(0)) await work()
    },
  }
}

/** The program in this clone, or an installed one. */
export const program =
  process.env['BERTH_TEST_PROGRAM'] ?? fileURLToPath(new URL('../../../bin/berth.js', import.meta.url))
/** The Node that runs the program, in processes. */
export const programNode = process.env['BERTH_TEST_NODE'] ?? process.execPath
/** An installed program does not share the modules of the threads here. */
const isInstalled = 'BERTH_TEST_PROGRAM' in process.env
/** The program for processes: built as a package, which starts in less than half of the processor time. A whole run builds it. */
export const built = (!isInstalled && process.env['BERTH_TEST_BUNDLE']) || program

export type Environment = Readonly<Record<string, string>>

export interface Finished {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  /** What it printed so far. */
  output(): { readonly stdout: string; readonly stderr: string }
  readonly finished: Promise<Finished>
}

/** On a distributed database, each of the thousand changes that some commands send takes several times as long. */
const TIMEOUT_MS = isOnCitus ? 240_000 : 60_000

export interface RunOptions {
  /** Starts a process for a command that could run in a thread. */
  readonly ownProcess?: boolean
  readonly cwd?: string
  readonly uid?: number
  /** What it reads; nothing when it is not given. */
  readonly input?: string
  /** A link to the program, by whose name it is called. */
  readonly as?: string
  /** Of Node itself. */
  readonly nodeArgs?: readonly string[]
  /** The Node that runs the program. */
  readonly node?: string
  /** A command that runs the program, such as `unshare -m`: it replaces itself by its arguments. */
  readonly under?: readonly string[]
}

/** Starts `berth` with this environment and nothing of ours. It is killed when it runs longer than the test. */
export function spawnBerth(
  t: Cleanup,
  args: readonly string[],
  env: Environment = {},
  {
    input,
    node = programNode,
    nodeArgs = [],
    // The program of the clone starts another Node than an old one, and its modules can be watched.
    as = node === process.execPath && nodeArgs.length === 0 ? built : program,
    under = [],
    ownProcess: _,
    ...options
  }: RunOptions = {},
): Running {
  const [command = '', ...rest] = [...under, node, ...nodeArgs, as, ...args]
  const child = spawn(command, rest, {
    env: processEnvironment(env),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...options,
  })
  child.stdin?.on('error', () => undefined).end(input)
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const finished = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }))
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await finished
  })
  return { child, output: () => ({ stdout, stderr }), finished }
}

/** Variables of a process that the tests start: `env`, and nothing of ours that it could depend on. */
export function processEnvironment(env: Environment) {
  // Modules that another process of the run compiled are not compiled again.
  const cache = process.env['NODE_COMPILE_CACHE']
  return { PATH: process.env['PATH'], HOME: tmpdir(), ...(cache && { NODE_COMPILE_CACHE: cache }), ...env }
}

/**
 * Whether a command does the same in a thread as in a process. A thread has no working directory, user, standard input or options of Node of
 * its own, and its modules keep what a command sets.
 */
function fitsThread(args: readonly string[], env: Environment, options: RunOptions): boolean {
  const { cwd, uid, input, as, node, nodeArgs, under, ownProcess } = options
  return (
    !isInstalled &&
    [cwd, uid, input, as, node, nodeArgs, under, ownProcess].every((option) => option === undefined) &&
    args[0] !== 'serve' &&
    !args.includes('--log-level') &&
    !Object.keys(env).some((name) => name.startsWith('NODE_') || name === 'BERTH_ENV_FILE')
  )
}

/** Runs `berth` to its end: in a thread where that makes no difference, since starting a process takes most of the time of a command. */
export async function runBerth(
  t: Cleanup,
  args: readonly string[],
  env: Environment = {},
  options: RunOptions = {},
): Promise<Finished> {
  if (fitsThread(args, env, options)) {
    const command = { program, args, env: processEnvironment(env) }
    return { ...(await runInThread(command, TIMEOUT_MS)), signal: null }
  }
  const { child, finished } = spawnBerth(t, args, env, options)
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
  return finished.finally(() => clearTimeout(timer))
}

export interface Serving extends Running {
  /** From the line `ready <address>`. */
  readonly url: string
}

/** `berth serve` on a free port, when it is ready. Fails with what it printed when it ends or hangs instead. */
export async function serveBerth(
  t: Cleanup,
  env: Environment,
  args: readonly string[] = [],
  options: RunOptions = {},
): Promise<Serving> {
  const running = spawnBerth(
    t,
    ['serve', ...args],
    // Another version may not know the setting.
    { BERTH_LISTEN: '127.0.0.1:0', ...(options.as === undefined && { BERTH_DRAIN_DELAY: '0s' }), ...env },
    options,
  )
  const { child, output } = running
  const line = /^ready (\S+)\n/
  await new Promise<void>((resolve, reject) => {
    const fail = () => reject(new Error(`berth serve did not get ready: ${output().stderr}`))
    const timer = setTimeout(fail, TIMEOUT_MS)
    child.stdout?.on('data', () => {
      if (!line.test(output().stdout)) return
      clearTimeout(timer)
      resolve()
    })
    child.once('close', () => {
      clearTimeout(timer)
      fail()
    })
  })
  return { ...running, url: line.exec(output().stdout)?.[1] ?? '' }
}

/** A directory that goes when the test ends. */
export function temporaryDirectory(t: Cleanup): string {
  const path = mkdtempSync(join(tmpdir(), 'berth-test-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}
