import type { IncomingHttpHeaders } from 'node:http'
import { limits } from '../config/limits.ts'
import type { Log } from '../runtime/log.ts'
import type { Reader } from '../storage/db.ts'
import { readSetting, writeSetting } from '../storage/settings.ts'
import type { Store } from '../storage/store.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/**
 * Notices a proxy that the configuration does not trust: then all users behind it count as one address, and the limits on sign-in
 * attempts lock all of them out together. What was seen is in the database, where `berth admin check` finds it.
 */

const SETTING = 'untrusted_proxy_seen'

export interface SeenUntrustedProxy {
  /** RFC 3339. */
  readonly time: string
  /** Address that the request came from. */
  readonly address: string
}

export interface UntrustedProxyDetector {
  /** Looks at the headers of a request. `addressOf` returns the address that it came from. */
  inspect(headers: IncomingHttpHeaders, addressOf: () => string): void
  /** Waits for what is being written. */
  stop(): Promise<void>
}

/** `trusted`: the configured networks of proxies. Forgets what was seen if there are any. */
export async function createUntrustedProxyDetector(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  {
    trusted,
    log,
    metrics,
  }: { trusted: readonly string[]; log: Log; metrics: Pick<Metrics, 'recordUntrustedForwarded'> },
): Promise<UntrustedProxyDetector> {
  if (trusted.length > 0 && (await readSeenUntrustedProxy(db.kysely)) !== undefined)
    await writeSetting(db.kysely, SETTING, '')
  let notedMs = Number.NEGATIVE_INFINITY
  let writing: Promise<unknown> = Promise.resolve()
  return {
    inspect(headers, addressOf) {
      if (headers['x-forwarded-for'] === undefined || trusted.length > 0) return
      metrics.recordUntrustedForwarded()
      const now = clock()
      if (now - notedMs < limits.untrustedProxyNoticeMs) return
      notedMs = now
      const address = addressOf()
      log.warn({ address }, WARNING)
      const seen: SeenUntrustedProxy = { time: new Date(now).toISOString(), address }
      writing = writeSetting(db.kysely, SETTING, JSON.stringify(seen)).catch((err: unknown) =>
        log.warn({ err }, 'the untrusted proxy could not be recorded for berth admin check'),
      )
    },
    async stop() {
      await writing
    },
  }
}

const WARNING =
  'a request has X-Forwarded-For, but no proxy is trusted, so all users behind a proxy count as one address: rate limits and limits on sign-in attempts lock them out together. If this address is your proxy, add its network to BERTH_TRUSTED_PROXIES; if there is no proxy, ignore this'

/** The last request of an untrusted proxy that was recorded; undefined if there was none since proxies were configured. */
export async function readSeenUntrustedProxy(db: Reader): Promise<SeenUntrustedProxy | undefined> {
  const text = await readSetting(db, SETTING)
  return text === undefined || text === '' ? undefined : (JSON.parse(text) as SeenUntrustedProxy)
}
