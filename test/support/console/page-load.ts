import type { Browser, Page, Request } from 'playwright-core'
import { eventually } from '../eventually.ts'

/** How long a page takes to load, from the trace that Chromium records. */
export interface PageLoad {
  readonly requests: number
  /** Addresses that scripts requested again. */
  readonly repeated: readonly string[]
  /** Bytes that came over the network, headers included. */
  readonly bytes: number
  /** First contentful paint. */
  readonly paintMs: number
  /** The page is painted with its heading, and no task of 50 ms or more follows for as long as the trace runs. */
  readonly readyMs: number
  /** Processor time of the page's main thread. Unlike the other times, it does not depend on what else the machine does. */
  readonly busyMs: number
}

const SLOWDOWN = 4
const LONG_TASK_US = 50_000
/** For how long the trace goes on after the heading. */
const SETTLE_MS = 700
const US_PER_MS = 1000
/** The mark of the time at which the page has its heading. */
const SHOWN = 'heading shown'
/** The mark that relates the clock of the trace to that of the page. */
const CLOCK = 'clock of the page'

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  /** Microseconds. */
  readonly ts: number
  readonly dur?: number
  /** Of the thread. */
  readonly tdur?: number
}

/**
 * Marks the time at which the page has its heading, in the page.
 *
 * Playwright's own way to wait compiles a large script in the page, which takes as long as a small page.
 */
const markHeading = (heading: string | RegExp) => `{
  const isHeading = ${heading instanceof RegExp ? heading.toString() : `{ test: (text) => text === ${JSON.stringify(heading)} }`}
  const observer = new MutationObserver(() => {
    const text = document.querySelector('h1')?.textContent ?? ''
    if (text === '' || !isHeading.test(text)) return
    observer.disconnect()
    performance.mark('${SHOWN}')
  })
  observer.observe(document, { childList: true, subtree: true, characterData: true })
}`

/** Loads an address with an empty cache, at a fourth of the speed of this machine's processor. */
export async function measurePageLoad(
  chromium: Browser,
  page: Page,
  url: string,
  heading: string | RegExp,
): Promise<PageLoad> {
  const session = await page.context().newCDPSession(page)
  await session.send('Page.enable')
  await session.send('Network.enable')
  await session.send('Network.clearBrowserCache')
  await page.goto('about:blank')
  const { identifier } = await session.send('Page.addScriptToEvaluateOnNewDocument', {
    source: markHeading(heading),
  })
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN })
  await chromium.startTracing(page, {
    categories: ['devtools.timeline', 'blink.user_timing', 'loading', 'toplevel'],
  })
  const finished: Request[] = []
  const onFinished = (request: Request) => finished.push(request)
  page.on('requestfinished', onFinished)
  await page.goto(url)
  const read = async (expression: string): Promise<number | undefined> =>
    (await session.send('Runtime.evaluate', { expression, returnByValue: true })).result.value
  const shownTime = `performance.getEntriesByName('${SHOWN}')[0]?.startTime`
  await eventually(async () => (await read(shownTime)) !== undefined)
  await page.waitForTimeout(SETTLE_MS)
  const shownMs = (await read(shownTime)) ?? 0
  const paintMs = (await read("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")) ?? 0
  const clockMs = (await read(`performance.mark('${CLOCK}').startTime`)) ?? 0
  page.off('requestfinished', onFinished)
  const trace = JSON.parse((await chromium.stopTracing()).toString()) as {
    readonly traceEvents: readonly TraceEvent[]
  }
  await session.send('Page.removeScriptToEvaluateOnNewDocument', { identifier })
  await session.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  await session.detach()
  const sizes = await Promise.all(finished.map((request) => request.sizes()))
  return {
    requests: finished.length,
    repeated: finished
      .filter((request) => request.resourceType() === 'fetch')
      .map((request) => request.url())
      .filter((address, at, addresses) => addresses.indexOf(address) !== at),
    bytes: sizes.reduce((sum, size) => sum + size.responseHeadersSize + size.responseBodySize, 0),
    paintMs,
    readyMs: Math.max(paintMs, readyMsOf(trace.traceEvents, shownMs, clockMs)),
    busyMs: busyMsOf(trace.traceEvents, clockMs),
  }
}

const TASK = 'ThreadControllerImpl::RunTask'

/** Returns the mark that the page has set, and with it the main thread of the page. */
function clockOf(events: readonly TraceEvent[]): TraceEvent {
  const clock = events.find(({ name }) => name === CLOCK)
  if (clock === undefined) throw new Error('the trace lacks the mark of the page')
  return clock
}

function tasksOf(events: readonly TraceEvent[]): readonly TraceEvent[] {
  const { pid, tid } = clockOf(events)
  return events.filter((event) => event.name === TASK && event.pid === pid && event.tid === tid)
}

function readyMsOf(events: readonly TraceEvent[], shownMs: number, clockMs: number): number {
  const { ts } = clockOf(events)
  const ends = tasksOf(events)
    .filter(({ dur = 0 }) => dur >= LONG_TASK_US)
    .map((event) => clockMs + (event.ts + (event.dur ?? 0) - ts) / US_PER_MS)
  return Math.max(shownMs, ...ends)
}

function busyMsOf(events: readonly TraceEvent[], clockMs: number): number {
  const startUs = clockOf(events).ts - clockMs * US_PER_MS
  const tasks = tasksOf(events).filter(({ ts }) => ts >= startUs)
  return tasks.reduce((sum, { tdur = 0 }) => sum + tdur, 0) / US_PER_MS
}
