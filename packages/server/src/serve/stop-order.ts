import type { ShutdownStep } from '../port/shutdown.ts'

/** The order in which the parts of a server stop, whatever order they start in. */
const stopOrder = [
  'requests',
  'rate limits',
  'advisory feeds',
  'garbage collection',
  'storage runs',
  'retention',
  'image contents',
  'image contents sweep',
  'email',
  'findings',
  'record index',
  'finding history',
  'image signatures',
  'expiry',
  'usage',
  'signing keys',
  // Each step has half of the time that is left: what matters most is first, for a server of the database that does not respond.
  'audit events',
  'decisions of policies',
  'pulls and pushes',
  'last-seen times',
  'token issuers',
  'clouds',
  'sign-in providers',
  'advisory publishers',
  'image readers',
  'document readers',
  'manifest readers',
  'feed processes',
  // Later than the public port: it reports the shutdown.
  'metrics listener',
  'sign of life',
  'TLS files',
  'untrusted proxies',
  'database',
  'blob store',
  'free space',
  'traces and access log',
  'counts of a worker',
] as const

export interface StopStep extends ShutdownStep {
  readonly name: (typeof stopOrder)[number]
}

/** Returns the steps of the parts that have started, in the order in which they stop. */
export function inStopOrder(steps: readonly StopStep[]): readonly StopStep[] {
  return [...steps].sort((a, b) => stopOrder.indexOf(a.name) - stopOrder.indexOf(b.name))
}
