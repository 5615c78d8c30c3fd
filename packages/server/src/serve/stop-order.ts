import type { ShutdownStep } from '../port/shutdown.ts'

/** The order in which the parts of a server stop, whatever order they start in. */
const stopOrder = [
  'requests',
  'rate limits',
  'advisory feeds',
  'garbage collection',
  'retention',
  'email',
  'expiry',
  'signing keys',
  'last-seen times',
  'audit events',
  'token issuers',
  'clouds',
  'sign-in providers',
  'advisory publishers',
  'document readers',
  'manifest readers',
  'feed processes',
  // Later than the public port: it reports the shutdown.
  'metrics listener',
  'TLS files',
  'untrusted proxies',
  'database',
  'blob store',
  'free space',
  'traces and access log',
] as const

export interface StopStep extends ShutdownStep {
  readonly name: (typeof stopOrder)[number]
}

/** Returns the steps of the parts that have started, in the order in which they stop. */
export function inStopOrder(steps: readonly StopStep[]): readonly StopStep[] {
  return [...steps].sort((a, b) => stopOrder.indexOf(a.name) - stopOrder.indexOf(b.name))
}
