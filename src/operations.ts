import { Code, unavailable } from './core/errors.ts'
import { errorBody, httpStatusOf } from './gateway/error-body.ts'
import type { HttpHandler, HttpReply } from './http.ts'
import type { Metrics } from './metrics.ts'
import type { Db } from './storage/db.ts'

/** What tells an operator, a balancer and a monitor how the server is. None of it needs a token or says anything of a tenant. */

const RETRY_MS = 1000
const plain = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }

const ok: HttpReply = { status: 200, headers: plain, body: 'ok\n' }

export interface Operations {
  readonly db: Db
  readonly metrics: Metrics
  readonly errorDomain: string
  /** False once the server is stopping: a balancer should send nothing more. */
  readonly serving: () => boolean
}

/** By path: /healthz (the process answers), /readyz (so does its database), /metrics. */
export function operationsHandlers({
  db,
  metrics,
  errorDomain,
  serving,
}: Operations): Readonly<Record<string, HttpHandler>> {
  return {
    '/healthz': () => ok,
    '/readyz': async () => {
      const notReady = (why: string, cause?: unknown): HttpReply => ({
        status: httpStatusOf(Code.UNAVAILABLE),
        headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
        body: errorBody(unavailable(why, RETRY_MS, cause), errorDomain),
      })
      if (!serving()) return notReady('the server is stopping')
      try {
        await db.kysely.selectFrom('settings').select('name').limit(1).execute()
        return ok
      } catch (error) {
        return notReady('the database does not answer', error)
      }
    },
    '/metrics': async () => {
      const { contentType, body } = await metrics.text()
      return { status: 200, headers: { 'content-type': contentType, 'cache-control': 'no-store' }, body }
    },
  }
}
