import type { Bench, Result } from '../bench.ts'
import type { Child } from '../child.ts'
import type { BerthReady } from '../children/berth.ts'
import { ORGANIZATION } from '../dataset.ts'
import { goals } from '../goals.ts'
import { type HttpClient, httpClient, medianOf, request } from '../http-load.ts'

/**
 * How long other requests wait while a long read runs: one client sends pings, one after the other, another the reads. What
 * counts is the longest ping during each read, as the median over the reads.
 */

const QUIET_MS = 50

export async function measureWait(bench: Bench): Promise<Result[]> {
  const { dataDir } = await bench.dataSet(bench.sizes.large)
  const middle = Math.floor(bench.sizes.large.groups / 2)
  const reads: readonly (readonly [string, string])[] = [
    ['deep skip by name', `order_by=name&skip=${middle}`],
    ['deep skip by uid', `skip=${middle}`],
    ['filter by name', `name=group-${middle}`],
    ['filter by parent and name', `uidp.children_of=${ORGANIZATION}&name=team-7`],
    ['deep skip by uid, going down', `order_by=uid%20desc&skip=${middle}`],
    ['largest page', 'page_size=200'],
  ]
  const results: Result[] = []
  for (const core of ['server', 'any'] as const) {
    const berth = await bench.startBerth({ dataDir }, core)
    for (const [title, query] of reads) results.push(await waitDuring(bench, berth, core, title, query))
    await berth.stop()
  }
  return results
}

interface Delay {
  readonly median: number
  readonly p99: number
  readonly max: number
}

async function waitDuring(
  bench: Bench,
  berth: Child & { readonly ready: BerthReady },
  core: 'server' | 'any',
  title: string,
  query: string,
): Promise<Result> {
  const { port, token } = berth.ready
  const prober = await startProber(port)
  const reader = await httpClient(port)
  const times = bench.options.quick ? 3 : 25
  const slow = request('GET', `/iam/v2beta1/groups?${query}`, { token })
  const read = async () => {
    const startMs = performance.now()
    const { status, body } = await reader.send(slow)
    if (status !== 200) throw new Error(`the server answered ${status}: ${body}`)
    return performance.now() - startMs
  }
  try {
    for (let time = 0; time < 3; time++) await read() // threads start, statements are prepared
    await berth.ask('watchLoop')
    const quiet: number[] = []
    const busy: number[] = []
    const took: number[] = []
    for (let time = 0; time < times; time++) {
      prober.longestMs()
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
      quiet.push(prober.longestMs())
      took.push(await read())
      busy.push(prober.longestMs())
    }
    const delay = await berth.ask<Delay>('loopDelayMs')
    const where = core === 'server' ? 'on one core' : 'on two cores'
    const note =
      `read ${medianOf(took).toFixed(1)} ms; idle server ${medianOf(quiet).toFixed(1)} ms; ` +
      `longest ever ${Math.max(...busy).toFixed(1)} ms; loop delay p99 ${delay.p99.toFixed(1)} ms, max ${delay.max.toFixed(1)} ms`
    const value = medianOf(busy)
    bench.say(`  ${title} ${where}: pings waited ${value.toFixed(2)} ms; ${note}`)
    return { work: 'wait', title: `wait: ${title}, ${where}`, value, unit: 'ms', goal: goals.wait, note }
  } finally {
    await prober.stop()
    reader.close()
  }
}

/** Sends pings without pause. */
async function startProber(port: number) {
  const client: HttpClient = await httpClient(port)
  const ping = request('GET', '/healthz')
  let longestMs = 0
  let sentMs = performance.now()
  let stopping = false
  const running = (async () => {
    while (!stopping) {
      sentMs = performance.now()
      await client.send(ping)
      longestMs = Math.max(longestMs, performance.now() - sentMs)
    }
  })()
  running.catch(() => {})
  return {
    /** Since it was asked last, with the ping under way. */
    longestMs() {
      const found = Math.max(longestMs, performance.now() - sentMs)
      longestMs = 0
      return found
    },
    async stop() {
      stopping = true
      await running.catch(() => {})
      client.close()
    },
  }
}
