import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'

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

/** A process and those that it has started. */
function processesOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(processesOf)]
}

function cpuUs(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user, system] = fields.split(' ').slice(11, 13).map(Number) as [number, number]
  return (user + system) * CLOCK_TICK_US
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
