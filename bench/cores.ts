import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** One core for what is measured, another for everything else, so that neither takes time from the other. */

export const SERVER_CORE = 0
const LOAD_CORE = 1
const ALL_CORES = `${SERVER_CORE},${LOAD_CORE}`

export const pinned = availableParallelism() >= 2 && spawnSync('taskset', ['-V']).status === 0

/** Puts this process, the load generator, on its core. */
export function pinLoad(): void {
  if (pinned) spawnSync('taskset', ['-acp', String(LOAD_CORE), String(process.pid)])
}

/** Lets a process that the load generator started use all cores of the benchmark. */
export function onAllCores(pid: number): void {
  if (pinned) spawnSync('taskset', ['-acp', ALL_CORES, String(pid)])
}

/** The command that runs `command` on a core. */
export function onCore(core: 'server' | 'load' | 'any', command: readonly string[]): readonly string[] {
  if (!pinned) return command
  const list = { server: `${SERVER_CORE}`, load: `${LOAD_CORE}`, any: ALL_CORES }[core]
  return ['taskset', '-c', list, ...command]
}
