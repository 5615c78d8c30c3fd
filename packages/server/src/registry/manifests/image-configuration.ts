import { limits } from '../../config/limits.ts'
import { architectureOf, members, parseObject } from './image-json.ts'

/** Parses the configuration of an image for people, within a budget of text. Pure. */

export interface HistoryStep {
  readonly createdBy: string
  readonly comment: string
  /** undefined: no valid time. */
  readonly createdMs: number | undefined
  /** Index of the layer; undefined for a step without one. */
  readonly layer: number | undefined
}

export interface StoredConfiguration {
  readonly os: string
  readonly architecture: string
  readonly createdMs: number | undefined
  readonly author: string
  readonly user: string
  readonly env: readonly string[]
  readonly entrypoint: readonly string[]
  readonly cmd: readonly string[]
  readonly workingDir: string
  readonly exposedPorts: readonly string[]
  readonly volumes: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly stopSignal: string
  readonly history: readonly HistoryStep[]
  /** Whether texts are missing because the budget is exhausted. */
  readonly truncated: boolean
}

/** Returns undefined for content that is not a JSON object, as of some artifacts, and beyond the limits. */
export function parseStoredConfiguration(bytes: Uint8Array): StoredConfiguration | undefined {
  const { manifestDepthMax: depthMax, imageConfigElementsMax: elementsMax } = limits
  const parsed = parseObject(bytes, { depthMax, elementsMax })
  if (parsed === undefined) return undefined
  const budget = createTextBudget(limits.imageConfigTextBytesMax)
  const { text, list, names, map } = budget
  const config = members(parsed['config'])
  return {
    os: text(parsed['os']),
    architecture: text(architectureOf(parsed)),
    createdMs: timeOf(parsed['created']),
    author: text(parsed['author']),
    user: text(config['User']),
    env: list(config['Env']),
    entrypoint: list(config['Entrypoint']),
    cmd: list(config['Cmd']),
    workingDir: text(config['WorkingDir']),
    exposedPorts: names(config['ExposedPorts']),
    volumes: names(config['Volumes']),
    labels: map(config['Labels']),
    stopSignal: text(config['StopSignal']),
    history: readHistory(parsed['history'], text),
    truncated: budget.isExhausted(),
  }
}

/** Reads text until a number of bytes is used up; what does not fit is left out. */
function createTextBudget(bytesMax: number) {
  let left = bytesMax
  let exhausted = false
  const take = (value: string): string | undefined => {
    const wellFormed = value.toWellFormed()
    const size = Buffer.byteLength(wellFormed)
    if (size > left) {
      exhausted = true
      return undefined
    }
    left -= size
    return wellFormed
  }
  const text = (value: unknown): string => (typeof value === 'string' ? (take(value) ?? '') : '')
  const texts = (values: readonly unknown[]): string[] =>
    values.flatMap((value) => (typeof value === 'string' ? (take(value) ?? []) : []))
  return {
    text,
    list: (value: unknown): string[] => (Array.isArray(value) ? texts(value) : []),
    /** Of an object that is a set. */
    names: (value: unknown): string[] => texts(Object.keys(members(value))),
    map: (value: unknown): Record<string, string> =>
      Object.fromEntries(
        Object.entries(members(value)).flatMap(([name, entry]) => {
          if (typeof entry !== 'string') return []
          const [takenName, takenEntry] = [take(name), take(entry)]
          return takenName === undefined || takenEntry === undefined ? [] : [[takenName, takenEntry]]
        }),
      ),
    isExhausted: () => exhausted,
  }
}

function readHistory(value: unknown, text: (value: unknown) => string): HistoryStep[] {
  if (!Array.isArray(value)) return []
  let layers = 0
  return value.map((step: unknown) => {
    const { created_by, comment, created, empty_layer } = members(step)
    return {
      createdBy: text(created_by),
      comment: text(comment),
      createdMs: timeOf(created),
      layer: empty_layer === true ? undefined : layers++,
    }
  })
}

const EARLIEST_MS = Date.parse('0001-01-01T00:00:00.000Z')
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z')

function timeOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return ms >= EARLIEST_MS && ms <= LATEST_MS ? ms : undefined
}
