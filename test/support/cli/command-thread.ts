import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { parentPort } from 'node:worker_threads'

/** A thread that runs commands of the program one after the other, each as if it had a process of its own. */

export interface Command {
  /** Path of the program. */
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** Whether the command ended with `process.exit`: what it left behind may still run. */
  readonly exited: boolean
}

let runs = 0

parentPort?.on('message', async (command: Command) => parentPort?.postMessage(await run(command)))

async function run({ program, args, env }: Command): Promise<CommandResult> {
  const stdout = captured()
  const stderr = captured()
  const exit = Promise.withResolvers<number>()
  replace('stdin', Readable.from([]))
  replace('stdout', stdout.stream)
  replace('stderr', stderr.stream)
  replace('exit', (code = process.exitCode ?? 0) => {
    exit.resolve(Number(code))
    throw new Error('the command ended')
  })
  process.argv = [process.execPath, program, ...args]
  process.exitCode = undefined
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  const exited = exit.promise.then((code) => ({ code, exited: true }))
  // A new query, since a module runs once per address. What it imports stays loaded.
  const finished = import(`${pathToFileURL(program)}?run=${runs++}`).then(
    () => ({ code: Number(process.exitCode ?? 0), exited: false }),
    (error: unknown) => {
      stderr.stream.write(`${inspect(error)}\n`)
      return { code: 1, exited: false }
    },
  )
  const end = await Promise.race([exited, finished])
  return { ...end, stdout: stdout.text(), stderr: stderr.text() }
}

function replace(name: 'stdin' | 'stdout' | 'stderr' | 'exit', value: unknown): void {
  Object.defineProperty(process, name, { configurable: true, value })
}

function captured(): { readonly stream: Writable; text(): string } {
  const pieces: Buffer[] = []
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      pieces.push(piece)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(pieces).toString() }
}
