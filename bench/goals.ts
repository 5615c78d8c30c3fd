/** What is measured, and how good it has to be. */

export const workNames = [
  'get',
  'list',
  'grpc',
  'create',
  'exchange',
  'aws',
  'refresh',
  'pages',
  'skip',
  'depth',
  'scopes',
  'wait',
  'postgres',
  'start',
  'advisories',
  'contents',
  'registry',
  'policies',
  'traced',
  'json',
  'connect',
  'workers',
  'distributed',
  'peers',
  'compare',
] as const
export type WorkName = (typeof workNames)[number]

/** They require programs of others, a release, or PostgreSQL with Citus. */
const unusualWorks: readonly string[] = ['peers', 'compare', 'distributed'] satisfies WorkName[]

/** What a run measures that names nothing. */
export const usualWorks = workNames.filter((name) => !unusualWorks.includes(name))

/** `share`: of a baseline's capacity, more is better. The others: less is better, but for rates. `factor`: `times` with more digits. */
export type Unit = 'share' | 'times' | 'factor' | 'ms' | 's' | 'MB' | '/s'

export interface Goal {
  readonly unit: Unit
  readonly atLeast: number
  readonly stretch: number
}

export const goals = {
  get: { unit: 'share', atLeast: 0.33, stretch: 0.45 },
  list: { unit: 'share', atLeast: 0.15, stretch: 0.25 },
  grpc: { unit: 'share', atLeast: 1, stretch: 1.5 },
  connect: { unit: 'share', atLeast: 1, stretch: 2 },
  json: { unit: 'share', atLeast: 2, stretch: 4 },
  create: { unit: 'share', atLeast: 0.6, stretch: 0.8 },
  exchangeRs256: { unit: 'share', atLeast: 0.6, stretch: 0.8 },
  exchangeEs256: { unit: 'share', atLeast: 0.7, stretch: 0.8 },
  pages: { unit: 'times', atLeast: 1.5, stretch: 1.2 },
  skip: { unit: 'times', atLeast: 5, stretch: 3 },
  wait: { unit: 'ms', atLeast: 5, stretch: 1 },
  postgres: { unit: 'share', atLeast: 0.5, stretch: 0.8 },
  start: { unit: 's', atLeast: 0.5, stretch: 0.3 },
  /** The first page of a filter of advisories, to a Get. */
  query: { unit: 'times', atLeast: 20, stretch: 10 },
  /** The findings or packages of an image, and the images of a vulnerability, among 100,000. */
  findings: { unit: 'ms', atLeast: 20, stretch: 10 },
  affected: { unit: 'ms', atLeast: 100, stretch: 20 },
  /** Rates, to those of another registry. */
  registry: { unit: 'share', atLeast: 1, stretch: 1.5 },
  manifestByTag: { unit: 'share', atLeast: 1, stretch: 1.2 },
  /** A pull with policies, to one without. */
  policies: { unit: 'factor', atLeast: 1.05, stretch: 1.02 },
  memory: { unit: 'MB', atLeast: 120, stretch: 90 },
} as const satisfies Record<string, Goal>

/** How many times the CPU time of a release a request may take. */
export interface Tolerance {
  readonly atMost: number
  readonly note?: string
}

export const tolerances = {
  read: { atMost: 1.15 },
  /** Mostly the kernel's, and large. */
  copy: { atMost: 1.25, note: 'noisy: the kernel copies' },
  write: { atMost: 1.3, note: 'noisy: waits for the disk' },
  start: { atMost: 1.3, note: 'noisy: one sample is one start' },
  memory: { atMost: 1.1 },
} as const satisfies Record<string, Tolerance>

export type Verdict = 'stretch' | 'reached' | 'missed' | '-'

export function verdictOf(value: number, goal: Goal | undefined): Verdict {
  if (goal === undefined) return '-'
  const good = (bound: number) => (goal.unit === 'share' ? value >= bound : value <= bound)
  if (good(goal.stretch)) return 'stretch'
  return good(goal.atLeast) ? 'reached' : 'missed'
}
