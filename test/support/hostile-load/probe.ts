import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { isMainThread } from 'node:worker_threads'

/**
 * Preloaded into the server (`node --import`): measures its event loop and memory, and answers on a socket, a line of JSON for each
 * line. `reset` collects garbage and starts to measure; `read` returns what was measured since.
 */

export interface Measured {
  /** Longest time in ms for which the event loop did not turn, and the processor time of the main thread within that turn. */
  readonly pauseMs: number
  readonly pauseCpuMs: number
  /** Processor time of the main thread in all, ms. */
  readonly cpuMs: number
  /** Resident memory in bytes at the start, and the most of it since. */
  readonly rssBefore: number
  readonly rssPeak: number
}

export const PROBE_SOCKET = 'HOSTILE_LOAD_PROBE'
const INTERVAL_MS = 2

const socket = process.env[PROBE_SOCKET]
// Processes and threads that the server starts inherit the preload; they are not what is measured.
delete process.env[PROBE_SOCKET]
if (isMainThread && socket !== undefined) startProbe(socket)

function startProbe(path: string): void {
  let pauseMs = 0
  let pauseCpuMs = 0
  let rssBefore = 0
  let cpuBefore = threadCpuMs()
  let lastMs = performance.now()
  let lastCpuMs = cpuBefore
  const tick = () => {
    const nowMs = performance.now()
    const nowCpuMs = threadCpuMs()
    pauseMs = Math.max(pauseMs, nowMs - lastMs - INTERVAL_MS)
    pauseCpuMs = Math.max(pauseCpuMs, nowCpuMs - lastCpuMs)
    lastMs = nowMs
    lastCpuMs = nowCpuMs
  }
  setInterval(tick, INTERVAL_MS).unref()
  const commands: Readonly<Record<string, () => unknown>> = {
    reset() {
      globalThis.gc?.()
      resetPeak()
      rssBefore = memory('VmRSS')
      cpuBefore = threadCpuMs()
      lastMs = performance.now()
      lastCpuMs = cpuBefore
      pauseMs = 0
      pauseCpuMs = 0
      return {}
    },
    read(): Measured {
      tick()
      const rssPeak = Math.max(memory('VmHWM'), rssBefore)
      return { pauseMs, pauseCpuMs, cpuMs: threadCpuMs() - cpuBefore, rssBefore, rssPeak }
    },
  }
  // A process that was killed leaves its socket behind.
  rmSync(path, { force: true })
  createServer((connection) => {
    connection.setEncoding('utf8').on('data', (line: string) => {
      connection.write(`${JSON.stringify(commands[line.trim()]?.())}\n`)
    })
    connection.on('error', () => undefined)
  })
    .listen(path)
    .unref()
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Bytes of the process by Linux's name; elsewhere the resident memory as Node knows it. */
function memory(name: 'VmRSS' | 'VmHWM'): number {
  if (process.platform !== 'linux') return process.memoryUsage.rss()
  const status = readFileSync('/proc/self/status', 'utf8')
  return Number(new RegExp(`${name}:\\s+([0-9]+) kB`).exec(status)?.[1]) * 1024
}

/** Sets VmHWM to the present memory (man 5 proc, clear_refs). */
function resetPeak(): void {
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5')
}
