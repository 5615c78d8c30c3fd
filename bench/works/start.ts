import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench, Result } from '../bench.ts'
import { onCore } from '../cores.ts'
import { type Goal, goals } from '../goals.ts'
import { medianOf } from '../http-load.ts'
import { currentVersion } from '../release.ts'

const STARTS = 5
const IDLE_MS = 3000
const READY_MS_MAX = 60_000
const KIB_PER_MB = 1024

/** `berth serve` on an empty database: from the spawn to its `ready` line, and the memory it has then. */
export async function measureStart(bench: Bench): Promise<Result[]> {
  const programs = [
    ['sources', fileURLToPath(new URL('../../bin/berth.js', import.meta.url)), undefined],
    ['package', currentVersion(bench).program, { start: goals.start, memory: goals.memory }],
  ] as const
  const results: Result[] = []
  for (const [name, program, goalsOf] of programs)
    results.push(...(await measureProgram(bench, name, program, goalsOf)))
  return results
}

async function measureProgram(
  bench: Bench,
  name: string,
  program: string,
  goalsOf: Readonly<Record<'start' | 'memory', Goal>> | undefined,
): Promise<Result[]> {
  const starts = bench.options.quick ? 1 : STARTS
  const warmCache = bench.scratch()
  const start = (compileCache: string, withMemory = false) =>
    startOnce(bench, { program, compileCache, withMemory })
  await start(warmCache) // fills the cache
  const warm: Started[] = []
  const cold: Started[] = []
  for (let index = 0; index < starts; index++) {
    warm.push(await start(warmCache, index === 0))
    cold.push(await start(bench.scratch()))
  }
  const seconds = (all: readonly Started[]) => medianOf(all.map((one) => one.seconds))
  const memory = warm[0]?.memoryMb ?? Number.NaN
  bench.say(
    `  ${name}: warm ${seconds(warm).toFixed(3)} s, cold ${seconds(cold).toFixed(3)} s, ${memory.toFixed(0)} MB`,
  )
  return [
    result(`start to ready, ${name}, warm compile cache`, seconds(warm), 's', goalsOf?.start),
    result(`start to ready, ${name}, cold compile cache`, seconds(cold), 's', goalsOf?.start),
    result(`resident memory, ${name}, idle after start`, memory, 'MB', goalsOf?.memory),
  ]
}

function result(title: string, value: number, unit: 's' | 'MB', goal: Result['goal']): Result {
  return { work: 'start', title, value, unit, goal }
}

interface Started {
  readonly seconds: number
  readonly memoryMb: number
}

interface Start {
  readonly program: string
  readonly compileCache: string
  readonly withMemory: boolean
}

async function startOnce(bench: Bench, { program, compileCache, withMemory }: Start): Promise<Started> {
  const [command, ...args] = onCore('server', [process.execPath, program, 'serve']) as [string, ...string[]]
  const startMs = performance.now()
  const server = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: compileCache,
      BERTH_LISTEN: '127.0.0.1:0',
      BERTH_DATA_DIR: join(bench.scratch(), 'data'),
    },
  })
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  const timer = setTimeout(() => server.kill('SIGKILL'), READY_MS_MAX)
  try {
    await new Promise<void>((resolve, reject) => {
      let text = ''
      server.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (/^ready /m.test(text)) resolve()
      })
      server.once('exit', (code) => reject(new Error(`berth serve ended with ${code}`)))
      server.once('error', reject)
    })
    const seconds = (performance.now() - startMs) / 1000
    if (!withMemory) return { seconds, memoryMb: Number.NaN }
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const kib = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(server.pid)], { encoding: 'utf8' }))
    return { seconds, memoryMb: kib / KIB_PER_MB }
  } finally {
    clearTimeout(timer)
    server.kill('SIGTERM')
    await ended
  }
}
