import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { call, type RestReply } from '../api/rest.ts'
import { PATIENCE_MS } from '../eventually.ts'
import { type Cleanup, type Environment, runBerth, type Serving, serveBerth } from '../server/process.ts'

/** A server process whose database fails, and a caller who watches. */

export interface ObservedServer {
  readonly serving: Serving
  readonly organization: string
  readonly token: string
  /** Creates a group with a name of its own. */
  write(): Promise<RestReply>
  /** Lists groups. */
  read(): Promise<RestReply>
  /** GET without a token, at most `ms` long. */
  get(path: string, ms?: number): Promise<Response>
}

/** Starts a server. `direct`: the address of its database without the faults, for the command that creates an organization. */
export async function startObservedServer(
  t: Cleanup,
  env: Environment,
  direct: string,
): Promise<ObservedServer> {
  const serving = await serveBerth(t, env)
  const admin = { ...env, BERTH_DATABASE_URL: direct }
  const { stdout, stderr } = await runBerth(t, ['admin', 'bootstrap', '--json'], admin)
  assert.notEqual(stdout, '', stderr)
  const {
    token,
    organization: { uid: organization },
  } = JSON.parse(stdout)
  return observe({ serving, organization, token })
}

/** Another node of the same installation, for the same caller. */
export function observe(given: Pick<ObservedServer, 'serving' | 'organization' | 'token'>): ObservedServer {
  const { serving, organization, token } = given
  return {
    ...given,
    write: () =>
      call('POST', `${serving.url}/iam/v2beta1/groups/${organization}`, {
        token,
        body: { name: `g-${randomBytes(8).toString('hex')}` },
      }),
    read: () => call('GET', `${serving.url}/iam/v2beta1/groups`, { token }),
    get: (path, ms = 10_000) => fetch(`${serving.url}${path}`, { signal: AbortSignal.timeout(ms) }),
  }
}

/** Milliseconds until `work` responds with 200. Every other response must be the database's 503 with Retry-After. */
export async function waitForRecovery(work: () => Promise<RestReply>): Promise<number> {
  const startMs = performance.now()
  for (;;) {
    const reply = await work()
    const ms = Math.round(performance.now() - startMs)
    if (reply.status === 200) return ms
    assertUnavailable(reply)
    assert.ok(ms < PATIENCE_MS, `still ${reply.text} after ${ms} ms`)
    await sleep(50)
  }
}

/** That a response is code 14 and says when to try again. */
export function assertUnavailable({ status, body, headers, text }: RestReply): void {
  assert.deepEqual([status, body?.code], [503, 14], text)
  assert.match(headers.get('retry-after') ?? '', /^[1-9]/)
}

/** What callers see who read and write until the test ends; each response as `status/code`. */
export function runLoad(t: Cleanup, { read, write }: ObservedServer, callers: number) {
  const seen = new Map<string, number>()
  let running = true
  const all = Array.from({ length: callers }, async (_, caller) => {
    while (running) {
      const reply = await (caller % 2 === 0 ? write() : read())
      const kind = `${reply.status}/${reply.body?.code ?? 0}`
      seen.set(kind, (seen.get(kind) ?? 0) + 1)
      if (reply.status !== 200) await sleep(20)
    }
  })
  t.after(async () => {
    running = false
    await Promise.allSettled(all)
  })
  return {
    seen: seen as ReadonlyMap<string, number>,
    async stop() {
      running = false
      await Promise.all(all)
      return [...seen.keys()].filter((kind) => kind !== '200/0' && kind !== '503/14')
    },
  }
}
