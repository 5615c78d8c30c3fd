import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The files under deploy/ for Prometheus and Grafana. */

export const RULES = 'deploy/prometheus/berth-rules.yml'
export const DASHBOARD = 'deploy/grafana/berth.json'

export interface Panel {
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly targets?: readonly { readonly expr: string }[]
}

/** Titles of the panels that stay empty in a short run without workers: of errors, garbage collection, jobs that fail, and workers. */
export const panelsOfRareEvents: ReadonlySet<string> = new Set([
  'Errors by code',
  'Rejected by rate limits',
  'Values that could not be read',
  'Failed runs',
  'Deleted by garbage collection',
  'Workers',
  'Workers that ended',
  'Connections closed for workers',
])

interface Dashboard {
  readonly panels: readonly Panel[]
}

/** The panels of the dashboard that show something. */
export function panels(): Panel[] {
  const { panels: all } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard
  return all.filter(({ type }) => type !== 'row')
}

/** Whether a program can be run. */
export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined
}

/** The names of Berth's metrics in an expression or a document. */
export function metricsIn(text: string): Set<string> {
  return new Set([...text.matchAll(/\bberth_[a-z0-9_]+/g)].map(([name]) => name.replace(/_bucket$/, '')))
}
