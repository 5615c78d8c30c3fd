import { readdirSync, readFileSync } from 'node:fs'

/** Processes that a child process of the benchmark starts, and that are measured from outside. */

const CLOCK_TICK_US = 10_000
const KIB_PER_MB = 1024

/** Microseconds of CPU of a process and of all processes that it has started, in steps of 10,000. */
export function cpuOfTree(pid: number): number {
  return processesOf(pid).reduce((sum, one) => sum + cpuUs(one), 0)
}

/** Resident megabytes of a process alone. */
export function residentMb(pid: number): number {
  const [, kib = 'NaN'] = /VmRSS:\s+([0-9]+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / KIB_PER_MB
}

/** A process and those that it has started and that still run. */
export function processesOf(pid: number): number[] {
  return [pid, ...ifRunning(() => childrenOf(pid), []).flatMap(processesOf)]
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
}

/** With the children that have ended and that it has waited for. */
function cpuUs(pid: number): number {
  const [, fields = ''] = ifRunning(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '').split(') ')
  const ticks = fields.split(' ').slice(11, 15).map(Number)
  return ticks.reduce((sum, one) => sum + one, 0) * CLOCK_TICK_US
}

/** `fallback`: for a process that has ended meanwhile. */
export function ifRunning<T>(read: () => T, fallback: T): T {
  try {
    return read()
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return fallback
    throw error
  }
}
