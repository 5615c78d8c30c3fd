import { Worker } from 'node:worker_threads'
import type { Command, CommandResult } from './command-thread.ts'

/** Threads of this process that run commands; they keep the modules of the program, which take most of the time of a short process. */

/** Each loads the modules once; a command that waits for another must not keep that from running. */
const THREADS_MAX = 3

/** A busy process asks for more output of a thread when a command has already replaced its streams, which Node does not expect. */
const OWN_OUTPUT = { stdout: true, stderr: true }

const idle: Worker[] = []
const waiting: (() => void)[] = []
let busyCount = 0

/** Runs a command to its end in a thread. Rejects if it takes longer than `timeoutMs`. */
export async function runInThread(command: Command, timeoutMs: number): Promise<CommandResult> {
  if (busyCount === THREADS_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
  else busyCount++
  try {
    return await runNow(command, timeoutMs)
  } finally {
    const next = waiting.shift()
    if (next === undefined) busyCount--
    else next()
  }
}

async function runNow(command: Command, timeoutMs: number): Promise<CommandResult> {
  const thread =
    idle.pop() ?? new Worker(new URL('command-thread.ts', import.meta.url), { env: {}, ...OWN_OUTPUT })
  thread.ref()
  const ended = Promise.withResolvers<CommandResult>()
  const fail = (error: Error) => ended.reject(error)
  const timer = setTimeout(() => fail(new Error(`berth ${command.args.join(' ')} did not end`)), timeoutMs)
  thread.once('message', ended.resolve)
  thread.once('error', fail)
  thread.postMessage(command)
  try {
    const result = await ended.promise
    thread.off('error', fail)
    thread.unref()
    if (result.exited) await thread.terminate()
    else idle.push(thread)
    return result
  } catch (error) {
    await thread.terminate()
    throw error
  } finally {
    clearTimeout(timer)
  }
}
