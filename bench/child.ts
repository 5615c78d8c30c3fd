import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { HotFunction } from './children/control.ts'
import { onCore } from './cores.ts'

/** A process that is measured, or that something is measured against. */
export interface Child {
  ask<T>(question: string, argument?: unknown): Promise<T>
  /** Microseconds of CPU used so far. */
  cpu(): Promise<number>
  startProfile(): Promise<void>
  stopProfile(): Promise<HotFunction[]>
  stop(): Promise<void>
}

const READY_MS_MAX = 30_000
const STOP_MS_MAX = 10_000

type Message =
  | { readonly ready: unknown }
  | { readonly id: number; readonly answer?: unknown; readonly error?: string }

/** Starts `bench/children/<script>.ts` on the server's core; `ready` is what it said first. */
export async function startChild<Ready>(
  script: string,
  argument: unknown,
  core: 'server' | 'load' | 'any' = 'server',
): Promise<Child & { readonly ready: Ready }> {
  const [execPath, ...execArgv] = onCore(core, [process.execPath]) as [string, ...string[]]
  const path = fileURLToPath(new URL(`./children/${script}.ts`, import.meta.url))
  const child = fork(path, [JSON.stringify(argument)], { execPath, execArgv, stdio: ['ignore', 2, 2, 'ipc'] })
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  const started = Promise.withResolvers<unknown>()
  let lastId = 0

  child.on('message', (message: Message) => {
    if ('ready' in message) {
      started.resolve(message.ready)
      return
    }
    const waiter = waiting.get(message.id)
    waiting.delete(message.id)
    if (message.error === undefined) waiter?.resolve(message.answer)
    else waiter?.reject(new Error(`${script}: ${message.error}`))
  })
  const fail = (why: string) => {
    const error = new Error(`the process ${script} ${why}`)
    started.reject(error)
    for (const waiter of waiting.values()) waiter.reject(error)
    waiting.clear()
  }
  child.on('error', (error) => fail(`could not be started: ${error.message}`))
  child.on('exit', (code, signal) => fail(`ended: ${signal ?? code}`))

  const ask = <T>(question: string, argument?: unknown): Promise<T> => {
    const waiter = Promise.withResolvers<unknown>()
    const id = ++lastId
    waiting.set(id, waiter)
    child.send({ id, ask: question, argument })
    return waiter.promise as Promise<T>
  }
  const timer = setTimeout(() => fail('was not ready in time'), READY_MS_MAX)
  try {
    const ready = (await started.promise) as Ready
    return {
      ready,
      ask,
      cpu: () => ask<number>('cpu'),
      startProfile: () => ask<void>('startProfile'),
      stopProfile: () => ask<HotFunction[]>('stopProfile'),
      stop: () => stopped(child),
    }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.disconnect()
  })
}
