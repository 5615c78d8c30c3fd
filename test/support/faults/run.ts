import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../eventually.ts'
import { type Cleanup, cleanups } from '../server/process.ts'
import { type FaultCase, retryable } from './cases/fault-case.ts'
import { type Load, startLoad } from './load.ts'
import { POLL_TIMEOUT_MS, pollStatus, type StatusPoll } from './poll-status.ts'
import { type Site, type SiteNode, startSite } from './site/fault-site.ts'
import { type Verified, verify } from './verify-acknowledged.ts'

/** Injects faults one after the other, and measures each. */

export interface Outcome {
  readonly case: FaultCase
  /** Why it did not run, or broke off; undefined when it ran to its end. */
  readonly broken: string | undefined
  /** Of the fault. */
  readonly durationMs: number
  readonly requests: number
  readonly failed: Readonly<Record<string, number>>
  /** Failures whose code is not true of the fault. */
  readonly wrong: Readonly<Record<string, number>>
  /** An example of each wrong failure. */
  readonly examples: readonly string[]
  /** From the end of the fault to the first success of the first and of the last node; NaN: none. */
  readonly firstMs: number
  readonly allMs: number
  readonly verified: Verified | undefined
  readonly contradictions: readonly string[]
  /** What `/readyz` and `/metrics` said in the second half of the fault, e.g. `503 x24`. */
  readonly ready: string
  readonly readyWrong: string | undefined
  readonly metrics: string
  readonly metricsWrong: string | undefined
  /** From SIGTERM, sent while the fault lasted, to the end of the node; undefined: none was sent; NaN: it did not end. */
  readonly stopMs: number | undefined
  /** Lines that nodes logged as errors. */
  readonly errors: readonly string[]
}

const DURATION_MS = 10_000
const QUIET_MS = 1500
/** Nodes have so long to notice a fault before `/readyz` has to know it. */
const NOTICE_MS = 6000
/** Of a probe or of metrics that answer: a balancer would give up later. */
const PROBE_MS_MAX = 5000
/** Time for running requests (`stopGraceMs`), and more for the rest. */
const STOP_MS_MAX = 25_000
/** After which nodes are given up, and started again: several times what they take. */
export const RECOVERY_MS_MAX = 60_000
const TRY_MS = 100
const TRY_MS_MAX = 3000

/** Sites are used again by cases of the same shape, unless a case leaves one broken. */
export function faultRunner(): { run(one: FaultCase): Promise<Outcome>; close(): Promise<void> } {
  let open:
    | { readonly key: string; readonly site: Site; readonly cleanup: ReturnType<typeof cleanups> }
    | undefined
  const close = async () => {
    await open?.cleanup.run()
    open = undefined
  }
  return {
    close,
    async run(one) {
      if (typeof one.skip === 'string') return brokenOutcome(one, `skipped: ${one.skip}`)
      const key = JSON.stringify(one.shape)
      try {
        if (open?.key !== key) {
          await close()
          const cleanup = cleanups()
          open = { key, cleanup, site: undefined as unknown as Site }
          open = { key, cleanup, site: await startSite(cleanup, one.shape) }
        }
        const outcome = await runCase(open.cleanup, open.site, one)
        if (Number.isNaN(outcome.allMs) || Number.isNaN(outcome.stopMs ?? 0) || outcome.broken !== undefined)
          await close()
        return outcome
      } catch (error) {
        await close().catch(() => undefined)
        return brokenOutcome(one, `broke off: ${(error as Error).stack}`)
      }
    },
  }
}

function brokenOutcome(one: FaultCase, broken: string): Outcome {
  return {
    case: one,
    broken,
    durationMs: 0,
    requests: 0,
    failed: {},
    wrong: {},
    examples: [],
    firstMs: Number.NaN,
    allMs: Number.NaN,
    verified: undefined,
    contradictions: [],
    ready: '',
    readyWrong: undefined,
    metrics: '',
    metricsWrong: undefined,
    stopMs: undefined,
    errors: [],
  }
}

async function runCase(t: Cleanup, site: Site, one: FaultCase): Promise<Outcome> {
  const lost = new Set(one.nodesLost ?? [])
  const logged = site.nodes.map((node) => node.process().output().stderr.length)
  const load = startLoad(site.target)
  const watched = site.nodes.map(({ url }, at) => (lost.has(at) ? undefined : nodeWatch(url)))
  let injectedMs = 0
  let healedMs = 0
  let stopping: Promise<number> | undefined
  const errors: string[] = []
  const collectErrors = (node: SiteNode, from: number) => {
    for (const line of node.process().output().stderr.slice(from).split('\n'))
      if (/"level":(50|60)/.test(line) || (line !== '' && !line.startsWith('{')))
        errors.push(line.slice(0, 600))
  }
  let unfinished: readonly string[] = []
  let firstMs = Number.NaN
  let allMs = Number.NaN
  let heal: (() => Promise<void> | void) | undefined
  try {
    await sleep(QUIET_MS)
    await eventually(() => load.isWarm() || load.failures.length > 0)
    if (load.failures.length > 0)
      throw new Error(
        `the load failed before the fault: ${load.failures[0]?.what} ${load.failures[0]?.detail}`,
      )
    const injecting = performance.now()
    heal = await one.inject(site)
    injectedMs = one.pathWorks ? injecting : performance.now()
    const durationMs = one.durationMs ?? DURATION_MS
    const recovering = one.pathWorks ? recoveries(site, lost, injectedMs) : undefined
    await sleep(durationMs / 2)
    // The last node is stopped while the fault lasts, where another one remains.
    const last = site.nodes.length - 1
    const stopped = one.stopsNode !== false && last > 0 && !lost.has(last) ? site.nodes[last] : undefined
    if (stopped !== undefined) {
      await recovering
      await watched[last]?.stop()
      load.leave(last)
      stopping = stop(stopped)
    }
    await sleep(durationMs / 2)
    const stopMs = await stopping
    const endingMs = performance.now()
    await heal()
    heal = undefined
    healedMs = performance.now()
    const { first, all } = await (recovering ??
      recoveries(site, stopped ? new Set([last]) : new Set(), healedMs))
    firstMs = first
    allMs = all
    if (stopped !== undefined) {
      collectErrors(stopped, logged[last] ?? 0)
      if (stopped.isRunning()) await stopped.kill()
      await stopped.start()
      logged[last] = 0
      load.back(last)
    }
    await sleep(QUIET_MS)
    await Promise.all(watched.map((each) => each?.stop()))
    // A restart ends what still waits: that is no failure of its own.
    const beforeRestart = Number.isNaN(allMs) ? evaluateFailures(load, one) : undefined
    if (beforeRestart !== undefined) await restart(site.nodes)
    unfinished = await load.stop()
    const { failed, wrong, examples } = beforeRestart ?? evaluateFailures(load, one)
    for (const [at, node] of site.nodes.entries())
      if (node.isRunning()) collectErrors(node, Number.isNaN(allMs) ? 0 : (logged[at] ?? 0))
    const verified = await verify(t, site, load.acknowledged)
    return {
      case: one,
      broken: undefined,
      durationMs: endingMs - injectedMs,
      requests: Object.values(load.requests).reduce((sum, n) => sum + n, 0),
      failed,
      wrong,
      examples,
      firstMs,
      allMs,
      verified: {
        ...verified,
        inconsistent: [...verified.inconsistent, ...unfinished.map((what) => `unfinished: ${what}`)],
      },
      contradictions: [...load.contradictions, ...(one.losesUploads ? [] : load.lostWrites)],
      ...evaluateWatches(one, watched, injectedMs, endingMs),
      stopMs,
      errors,
    }
  } finally {
    await heal?.()
    await Promise.all(watched.map((each) => each?.stop()))
    await load.stop()
  }
}

interface NodeWatch {
  readonly ready: StatusPoll
  readonly metrics: StatusPoll
  stop(): Promise<void>
}

function nodeWatch(url: string): NodeWatch {
  const [ready, metrics] = [pollStatus(`${url}/readyz`, 250), pollStatus(`${url}/metrics`, 1000)]
  return {
    ready,
    metrics,
    async stop() {
      await Promise.all([ready.stop(), metrics.stop()])
    },
  }
}

/** How long the node needs to end; NaN when it does not. */
async function stop(node: SiteNode): Promise<number> {
  const startMs = performance.now()
  const { child } = node.process()
  if (!node.isRunning()) return 0
  const ended = once(child, 'exit').then(() => performance.now() - startMs)
  child.kill('SIGTERM')
  return await Promise.race([ended, sleep(STOP_MS_MAX, Number.NaN, { ref: false })])
}

async function restart(nodes: readonly SiteNode[]): Promise<void> {
  for (const node of nodes) {
    if (node.isRunning()) await node.kill()
    await node.start()
  }
}

/** When nodes succeed again, in ms since `sinceMs`: each writes to the database and to the blob store. */
async function recoveries(site: Site, except: ReadonlySet<number>, sinceMs: number) {
  const times = await Promise.all(
    site.nodes.flatMap((node, at) => (except.has(at) ? [] : [recoveryOf(site, node, at, sinceMs)])),
  )
  const known = times.filter((ms) => !Number.isNaN(ms))
  return {
    first: known.length === 0 ? Number.NaN : Math.min(...known),
    all: known.length < times.length ? Number.NaN : Math.max(...known),
  }
}

async function recoveryOf({ target }: Site, { url }: SiteNode, at: number, sinceMs: number): Promise<number> {
  const { organization, tokens } = target
  const ask = async (path: string, token: string, init: RequestInit, status: number) => {
    const reply = await fetch(url + path, {
      ...init,
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(TRY_MS_MAX),
    })
    await reply.arrayBuffer()
    return reply.status === status
  }
  for (let n = 0; performance.now() - sinceMs < RECOVERY_MS_MAX; n++) {
    try {
      const body = JSON.stringify({ name: `probe-${at}-${n}-${Math.round(sinceMs)}` })
      const isWritten = await ask(`/iam/v2beta1/groups/${organization}`, tokens.api, { body }, 200)
      if (
        isWritten &&
        (await ask(`/v2/${organization}/images-${at}/blobs/uploads/`, tokens.registry, {}, 202))
      )
        return performance.now() - sinceMs
    } catch {
      // Not yet.
    }
    await sleep(TRY_MS)
  }
  return Number.NaN
}

function evaluateFailures(load: Load, one: FaultCase) {
  const failed: Record<string, number> = {}
  const wrong: Record<string, number> = {}
  const examples = new Map<string, string>()
  for (const { what, detail, node } of load.failures) {
    failed[what] = (failed[what] ?? 0) + 1
    const isOfLost =
      one.nodesLost?.includes(node) && /no reply|connection|E[A-Z]+|UND_|grpc (4|14)$|503/.test(what)
    const isTrue =
      retryable.test(what) ||
      one.acceptedContradictions?.test(what) ||
      (one.losesUploads && what === 'oci 404')
    if (isOfLost || (isTrue && !one.harmless)) continue
    wrong[what] = (wrong[what] ?? 0) + 1
    if (!examples.has(what)) examples.set(what, `${what}: ${detail}`)
  }
  return { failed, wrong, examples: [...examples.values()] }
}

function evaluateWatches(
  one: FaultCase,
  watches: readonly (NodeWatch | undefined)[],
  fromMs: number,
  toMs: number,
) {
  const during = (which: 'ready' | 'metrics', noticeMs: number) =>
    watches
      .flatMap((each) => each?.[which].samples ?? [])
      .filter(
        ({ startMs, tookMs }) =>
          startMs > fromMs + noticeMs && startMs + Math.min(tookMs, POLL_TIMEOUT_MS) < toMs,
      )
  const counted = (samples: ReturnType<typeof during>) => {
    const counts = new Map<string, number>()
    for (const { status, tookMs } of samples) {
      const what = `${status === 0 ? 'none' : status}${tookMs > PROBE_MS_MAX ? ' (late)' : ''}`
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
    return [...counts].map(([what, n]) => `${what} x${n}`).join(', ')
  }
  const ready = during('ready', NOTICE_MS)
  const metrics = during('metrics', 0)
  const expected = { yes: [200], no: [503], any: [200, 503] }[one.ready]
  const isWrong = ready.some(({ status, tookMs }) => !expected.includes(status) || tookMs > PROBE_MS_MAX)
  // A probe that hung for the whole of the fault has not ended within it. A fault of all nodes leaves none to probe.
  const isSilent = watches.some(Boolean) && ready.length === 0 && toMs - fromMs > NOTICE_MS + PROBE_MS_MAX / 2
  return {
    ready: counted(ready),
    readyWrong: isWrong ? `/readyz: ${counted(ready)}` : isSilent ? '/readyz did not answer' : undefined,
    metrics: counted(metrics),
    metricsWrong: metrics.some(({ status, tookMs }) => status !== 200 || tookMs > PROBE_MS_MAX)
      ? `/metrics: ${counted(metrics)}`
      : undefined,
  }
}
