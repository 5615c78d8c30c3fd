import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ifRunning, processesOf } from '../children/processes.ts'

/** A control group of Linux, of either version, that limits the processor time of a server and of the processes that it starts. */
export interface CpuShare {
  /** `cores`: processor time for each second, in seconds; undefined: without a limit. */
  limit(cores: number | undefined): void
  /** After the processes have ended. */
  remove(): void
}

const PERIOD_US = 100_000
const UNIFIED = '/sys/fs/cgroup'
const CPU_OF_VERSION_1 = '/sys/fs/cgroup/cpu'

/** Throws an Error where this user cannot create control groups. */
export function createCpuShare(pid: number, name: string): CpuShare {
  const isUnified = existsSync(join(UNIFIED, 'cgroup.controllers'))
  const group = join(isUnified ? UNIFIED : CPU_OF_VERSION_1, `berth-bench-${process.pid}-${name}`)
  mkdirSync(group)
  const write = (file: string, text: string) => writeFileSync(join(group, file), text)
  for (const one of processesOf(pid)) ifRunning(() => write('cgroup.procs', String(one)), undefined)
  return {
    limit(cores) {
      const quotaUs = cores === undefined ? undefined : Math.round(cores * PERIOD_US)
      if (isUnified) write('cpu.max', `${quotaUs ?? 'max'} ${PERIOD_US}`)
      else write('cpu.cfs_quota_us', String(quotaUs ?? -1))
    },
    remove: () => rmdirSync(group),
  }
}
