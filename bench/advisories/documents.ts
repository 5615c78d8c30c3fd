import { mix } from '../dataset.ts'

/**
 * Advisory documents as Wolfi publishes them: one for each package, about 17 advisories in each, vulnerabilities that many packages
 * have and very many that few have. How often what occurs was counted in 480 real documents; only the histories are longer, four
 * events on average. The same document for the same number at every generation.
 */

export interface ToldScan {
  readonly subpackageName: string
  readonly componentID: string
  readonly componentName: string
  readonly componentVersion: string
  readonly componentType: string
  readonly componentLocation: string
}

export type ToldEvent = { readonly timeMs: number } & (
  | { readonly type: 'detection'; readonly scan: ToldScan }
  | { readonly type: 'fixed'; readonly version: string }
  | { readonly type: 'false-positive-determination'; readonly note: string }
  | { readonly type: 'fix-not-planned' | 'pending-upstream-fix'; readonly note: string }
)

export interface ToldAdvisory {
  readonly id: string
  readonly aliases: readonly string[]
  /** In the order of time. */
  readonly events: readonly ToldEvent[]
}

export interface ToldDocument {
  readonly package: string
  readonly advisories: readonly ToldAdvisory[]
}

/** A number below 1 that looks random, one for each of its two arguments. */
function chance(index: number, salt: number): number {
  return mix(mix(index) ^ Math.imul(salt + 1, 0x9e3779b1)) / 2 ** 32
}

const below = (bound: number, index: number, salt: number) => Math.floor(chance(index, salt) * bound)

const LETTERS = '23456789cfghjmpqrvwx'

/** Three groups of four letters, different for different numbers. */
function idOf(index: number): string {
  let text = ''
  for (const value of [mix(index), mix(index ^ 0x2545f491)])
    for (let rest = value, at = 0; at < 8; at++, rest = Math.floor(rest / LETTERS.length))
      text += LETTERS[rest % LETTERS.length]
  return `${text.slice(0, 4)}-${text.slice(4, 8)}-${text.slice(8, 12)}`
}

/** How many advisories the documents have: each as often as the others. */
const sizes = [1, 1, 1, 1, 2, 4, 6, 8, 10, 12, 14, 17, 20, 23, 26, 30, 34, 38, 43, 60] as const

/** Advisories are numbered over all documents. */
const NUMBERS_PER_DOCUMENT = 64

export function advisoriesIn(document: number): number {
  return sizes[below(sizes.length, document, 0)] as number
}

export function documentOf(document: number): ToldDocument {
  const name = packageOf(document)
  const taken = new Set<number>()
  const advisories = Array.from({ length: advisoriesIn(document) }, (_, at) => {
    const number = document * NUMBERS_PER_DOCUMENT + at
    return advisoryOf(name, number, taken)
  })
  return { package: name, advisories }
}

const firstWords = (
  'argo cilium cert vault grafana kube prometheus istio envoy nginx redis postgres kafka spark flux helm keda ' +
  'velero thanos loki tempo jaeger harbor minio traefik calico linkerd knative tekton crossplane open cluster ' +
  'metrics node local external aws gcp azure gitlab'
).split(' ')
const secondWords = (
  'cli operator controller manager server agent proxy exporter gateway ui webhook driver plugin sidecar api ' +
  'scheduler runner adapter autoscaler provisioner sync config tools base fips'
).split(' ')

function packageOf(document: number): string {
  const first = firstWords[document % firstWords.length]
  const second = secondWords[Math.floor(document / firstWords.length) % secondWords.length]
  const version = Math.floor(document / firstWords.length / secondWords.length)
  return version === 0 ? `${first}-${second}` : `${first}-${second}-1.${version}`
}

const COMPONENTS = 5000
const VULNERABILITIES_PER_COMPONENT = 12

/** Few components are in very many packages. */
function vulnerabilityOf(number: number, taken: Set<number>) {
  const component = Math.floor(COMPONENTS * chance(number, 1) ** 5)
  let at = Math.floor(VULNERABILITIES_PER_COMPONENT * chance(number, 2) ** 2)
  let vulnerability = component * VULNERABILITIES_PER_COMPONENT + at
  // No document names one twice.
  while (taken.has(vulnerability)) {
    at++
    vulnerability =
      (component * VULNERABILITIES_PER_COMPONENT + at) % (COMPONENTS * VULNERABILITIES_PER_COMPONENT)
  }
  taken.add(vulnerability)
  return { component, vulnerability }
}

/** Years of 100 vulnerabilities. */
const years = Array.from({ length: 100 }, (_, at) =>
  at < 54 ? 2024 : at < 74 ? 2023 : at < 93 ? 2025 : 2012 + (at % 11),
)

function aliasesOf(vulnerability: number): string[] {
  const cve = `CVE-${years[below(years.length, vulnerability, 3)]}-${10_000 + vulnerability}`
  const ghsa = `GHSA-${idOf(vulnerability ^ 0x51ed270b)}`
  const kind = chance(vulnerability, 4)
  return kind < 0.91 ? [cve, ghsa] : kind < 0.96 ? [cve] : [ghsa]
}

const known = ['stdlib', 'golang.org/x/net', 'golang.org/x/crypto', 'golang.org/x/oauth2'] as const

function componentOf(component: number, artifact: string) {
  const kind = component < known.length ? 0 : chance(component, 5)
  const name = `${firstWords[below(firstWords.length, component, 6)]}-${component}`
  if (kind < 0.68)
    return {
      componentName: known[component] ?? `github.com/${secondWords[component % secondWords.length]}/${name}`,
      componentType: 'go-module',
      componentLocation: `/usr/bin/${artifact}`,
    }
  if (kind < 0.79)
    return {
      componentName: name,
      componentType: 'java-archive',
      componentLocation: `/usr/share/java/${artifact}/lib/${name}-1.2.3.jar`,
    }
  if (kind < 0.88) return { componentName: artifact, componentType: 'apk', componentLocation: '/.PKGINFO' }
  return kind < 0.95
    ? {
        componentName: name,
        componentType: 'python',
        componentLocation: `/usr/lib/python3.12/site-packages/${name}-1.2.3.dist-info/METADATA`,
      }
    : { componentName: name, componentType: 'rust-crate', componentLocation: `/usr/bin/${artifact}` }
}

const SCANS = 0.62
const SUBPACKAGES = 0.07

function advisoryOf(name: string, number: number, taken: Set<number>): ToldAdvisory {
  const { component, vulnerability } = vulnerabilityOf(number, taken)
  const artifact =
    chance(number, 7) < SUBPACKAGES ? `${name}-${secondWords[number % secondWords.length]}` : name
  const scan =
    chance(number, 8) < SCANS
      ? {
          subpackageName: artifact,
          componentID: `c${mix(component).toString(16).padStart(15, '0')}`,
          componentVersion: `v1.${component % 40}.${vulnerability % 9}`,
          ...componentOf(component, artifact),
        }
      : undefined
  return {
    id: `CGA-${idOf(number)}`,
    aliases: aliasesOf(vulnerability),
    events: historyOf(number, scan),
  }
}

type Turn = ToldEvent['type']
/** How a history continues, each as often as in 100 real ones. */
const turns: readonly (readonly [of100: number, turns: readonly Turn[]])[] = [
  [39, ['detection', 'fixed']],
  [29, ['fixed']],
  [13, ['detection']],
  [6, ['false-positive-determination']],
  [6, ['detection', 'pending-upstream-fix']],
  [5, ['detection', 'fix-not-planned']],
  [2, ['detection', 'false-positive-determination']],
]
/** Real histories are mostly one such part; with up to so many, advisories have four events on average. */
const PARTS = 5.2

const EPOCH_MS = Date.UTC(2023, 0, 1)
const DAY_MS = 86_400_000

function historyOf(number: number, scan: ToldScan | undefined): ToldEvent[] {
  const events: ToldEvent[] = []
  let timeMs = EPOCH_MS + below(850 * 86_400, number, 9) * 1000
  const length = Math.floor(1 + (PARTS - 1) * chance(number, 19))
  for (let part = 0; part < length; part++) {
    let of100 = below(100, number, 10 + part)
    const [, next] = turns.find(([share]) => {
      of100 -= share
      return of100 < 0
    }) as (typeof turns)[number]
    for (const turn of next) {
      timeMs += 1000 + below(30 * (DAY_MS / 1000), number + events.length, 20) * 1000
      events.push(eventOf(turn, timeMs, number + events.length, scan))
    }
  }
  return events
}

function eventOf(type: Turn, timeMs: number, salt: number, scan: ToldScan | undefined): ToldEvent {
  switch (type) {
    case 'detection':
      return scan === undefined ? { timeMs, type: 'fixed', version: versionOf(salt) } : { timeMs, type, scan }
    case 'fixed':
      return { timeMs, type, version: versionOf(salt) }
    default:
      return { timeMs, type, note: noteOf(salt) }
  }
}

function versionOf(salt: number): string {
  return `${below(3, salt, 30)}.${below(40, salt, 31)}.${below(20, salt, 32)}-r${below(8, salt, 33)}`
}

const WORDS =
  'the vulnerable function is not called by this package and upstream has not yet released a version that takes the fixed dependency'

/** Mostly about 130 characters. */
function noteOf(salt: number): string {
  const text = `${WORDS}, ${WORDS}, ${WORDS}`
  return text.slice(0, 20 + below(120, salt, 40) + below(230, salt, 41) * below(2, salt, 42)).trimEnd()
}
