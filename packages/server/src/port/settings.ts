import ipaddr from 'ipaddr.js'
import { limits } from '../config/limits.ts'
import { listSetting, type SettingGroup, setting } from '../config/setting.ts'
import {
  type ListenAddress,
  listenExpected,
  parseListen,
  parseStopDuration,
  stopDurationExpected,
} from '../config/setting-values.ts'

export interface PortSettings {
  readonly listen: ListenAddress
  /** The operator's own listener for metrics and health; undefined: the public port serves aggregate metrics. */
  readonly metricsListen: ListenAddress | undefined
  /** Milliseconds from SIGTERM until the port stops accepting connections. */
  readonly drainDelayMs: number
  /** Milliseconds that running requests have from then on. */
  readonly stopGraceMs: number
  readonly tls: TlsSettings | undefined
  /** CIDRs of proxies whose X-Forwarded-For counts. */
  readonly trustedProxies: readonly string[]
}

/** PEM files. */
export interface TlsSettings {
  readonly certFile: string
  readonly keyFile: string
}

const listen = setting('BERTH_LISTEN', {
  help: 'address and port to serve on; port 0 takes a free one',
  default: '`127.0.0.1:8080`',
  expected: listenExpected,
  parse: parseListen,
  fallback: { host: '127.0.0.1', port: 8080 },
})
const metricsListen = setting('BERTH_METRICS_LISTEN', {
  help: 'address and port of a [listener for metrics](#metrics) and health alone, in plain HTTP, such as `127.0.0.1:9090`',
  default: 'none: the public port serves `/metrics` without the names of tenants',
  expected: listenExpected,
  parse: parseListen,
})
const drainDelay = setting('BERTH_DRAIN_DELAY', {
  help: 'how long the port serves after SIGTERM while `/readyz` fails, see [stopping](#stopping-and-rolling-restarts); `0s`: not at all',
  default: '`5s`',
  expected: stopDurationExpected,
  parse: parseStopDuration,
  fallback: limits.drainDelayMs,
})
const stopGrace = setting('BERTH_STOP_GRACE', {
  help: 'how long running requests may then take to finish',
  default: '`10s`',
  expected: stopDurationExpected,
  parse: parseStopDuration,
  fallback: limits.stopGraceMs,
})
const pemFile = { expected: 'the path of a file', parse: (path: string) => path, reloads: true }
const certFile = setting('BERTH_TLS_CERT_FILE', {
  help: 'PEM file with the certificate chain; with it the port speaks TLS only',
  default: 'none: no TLS',
  ...pemFile,
})
const keyFile = setting('BERTH_TLS_KEY_FILE', { help: 'PEM file with its private key', ...pemFile })
const trustedProxies = listSetting('BERTH_TRUSTED_PROXIES', {
  help: 'CIDRs, separated by commas, of proxies whose `X-Forwarded-For` counts',
  expected: 'a CIDR such as 10.0.0.0/8',
  parse: (item) => (ipaddr.isValidCIDR(item) ? item : undefined),
})

export const portSettings: SettingGroup<PortSettings> = {
  settings: [listen, metricsListen, drainDelay, stopGrace, certFile, keyFile, trustedProxies],
  read({ read, isSet, report }) {
    const [cert, key] = [read(certFile), read(keyFile)]
    if (isSet(certFile) !== isSet(keyFile))
      report('BERTH_TLS_CERT_FILE and BERTH_TLS_KEY_FILE must be set together')
    return {
      listen: read(listen),
      metricsListen: read(metricsListen),
      drainDelayMs: read(drainDelay),
      stopGraceMs: read(stopGrace),
      tls: cert === undefined || key === undefined ? undefined : { certFile: cert, keyFile: key },
      trustedProxies: read(trustedProxies),
    }
  },
}
