import { Worker } from 'node:worker_threads'
import type { Command, CommandResult } from './command-thread.ts'

/** Threads of this process that run commands; they keep the modules of the program, which take most of the time of a short process. */

const idle: Worker[] = []

/** Runs a command to its end in a thread. Rejects if it takes longer than `timeoutMs`. */
export async function runInThread(command: Command, timeoutMs: number): Promise<CommandResult> {
  const thread = idle.pop() ?? new Worker(new URL('command-thread.ts', import.meta.url), { env: {} })
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
