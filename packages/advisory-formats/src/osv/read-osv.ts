import type { AdvisoryRecord, ScoreRecord } from '../advisory-record.ts'
import { formatLimits } from '../limits.ts'
import { parsePackageUrl } from '../package-url/parse-package-url.ts'
import { distinctScores, osvScores } from '../reading/cvss-scores.ts'
import { osvCwes } from '../reading/cwe-ids.ts'
import type { DocumentBudget } from '../reading/document-budget.ts'
import { buildHistory, createEventType, manualDetection, type SourceEvent } from '../reading/event-history.ts'
import { emptyRecord, type FormatReader } from '../reading/format-reader.ts'
import { compareInstants, type Instant, UNTIMED } from '../reading/instants.ts'
import { recordKey } from '../reading/record-key.ts'
import type { UnmappedTally } from '../reading/unmapped-fields.ts'
import { isPlatformId, readAlias, readVulnerabilityId } from '../reading/vulnerability-id.ts'
import { toTexts } from '../reading/vulnerability-records.ts'
import { type Fields, problemWith, type Value } from '../syntax/source-value.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  markRead,
  objectsIn,
  optionalInstant,
  optionalName,
  peek,
  readInstant,
  readName,
  requireField,
} from '../syntax/value-fields.ts'
import { createOsvExtensionWriter } from './read-osv-extension.ts'
import { readPublishedRecords } from './read-published-osv.ts'

/** Reads OSV records of schema 1: one vulnerability, and one advisory for each package or repository that it affects. */
export const readOsv: FormatReader = (root, tally, budget) => {
  checkVersion(root)
  const id = readVulnerabilityId(requireField(root, 'id'))
  const modified = knownInstant(readInstant(requireField(root, 'modified')))
  const texts = toTexts(peek(root, 'summary'), [peek(root, 'details')])
  const textsOf = () => texts
  const publishedAdvisories = readPublishedRecords(root, id, tally, budget)
  if (publishedAdvisories !== undefined)
    return { id, revisionMs: modified?.ms, advisories: publishedAdvisories, scores: [], textsOf }
  const aliases = entriesOf(root, 'aliases').map(readAlias)
  const upstream = entriesOf(root, 'upstream').map(readAlias)
  const withdrawn = optionalInstant(root, 'withdrawn')
  const affected = affectedIn(root, budget)
  // A withdrawn record no longer scores other advisories.
  const scores = withdrawn === undefined ? scoresOf(root, [id, ...aliases], affected, budget) : []
  const facts = {
    id,
    aliases: [...(isPlatformId(id) ? [] : [id]), ...aliases, ...upstream],
    modified,
    published: knownInstant(optionalInstant(root, 'published')),
    withdrawn,
    scores: ownScores(id, scores),
  }
  const writeExtension = createOsvExtensionWriter(root, affected.length)
  const advisories = affected.map((each) => ({
    ...recordOf(root, facts, each, tally, budget),
    osv: writeExtension(each.entries.map(({ entry, allRanges: ranges }) => ({ entry, ranges }))),
  }))
  // A record may affect nothing that it names, and still describe a vulnerability.
  const ids = withdrawn === undefined ? [id, ...aliases] : []
  return { id, revisionMs: modified?.ms, advisories, scores, textsOf, ids }
}

/** Facts that apply to everything that a record affects. */
interface Facts {
  readonly id: string
  readonly aliases: readonly string[]
  readonly modified: Instant | undefined
  readonly published: Instant | undefined
  readonly withdrawn: Instant | undefined
  readonly scores: ScoreRecord['severities']
}

function checkVersion(root: Fields): void {
  const version = field(root, 'schema_version')
  if (version === undefined) return
  const text = readName(version)
  if (!/^1(?:\.\d+)*(?:-[\w.]+)?$/.test(text)) {
    throw problemWith(version, `is ${JSON.stringify(text)}: only version 1 is supported`)
  }
}

const YEAR_2_MS = Date.parse('0002-01-01T00:00:00Z')

/** Ignores the year 1: some sources write their zero time for an unknown time. */
function knownInstant(instant: Instant | undefined): Instant | undefined {
  return instant === undefined || instant.ms < YEAR_2_MS ? undefined : instant
}

/** An affected package or repository, with all entries about it. */
interface Affected {
  readonly key: string
  readonly name: string
  readonly type: string
  /** A package URL, or the URL of the repository. */
  product: string
  readonly entries: AffectedEntry[]
}

interface AffectedEntry {
  readonly entry: Fields
  /** The ranges that determine the fixed version. */
  readonly ranges: Fields[]
  /** All ranges about this package or repository. */
  readonly allRanges: Fields[]
}

/** Returns each package once, and each repository of entries without a package. */
function affectedIn(root: Fields, budget: DocumentBudget): Affected[] {
  const found = new Map<string, Affected>()
  const add = (
    key: string,
    name: string,
    type: string,
    entry: Fields,
    ranges: readonly Fields[],
    all = ranges,
  ): Affected => {
    const known = found.get(key)
    if (known === undefined) budget.advisory(entry)
    const affected = known ?? { key, name, type, product: '', entries: [] }
    const last = affected.entries.at(-1)
    if (last?.entry === entry) {
      last.ranges.push(...ranges)
      last.allRanges.push(...all)
    } else {
      affected.entries.push({ entry, ranges: [...ranges], allRanges: [...all] })
    }
    found.set(key, affected)
    return affected
  }
  for (const entry of objectsIn(root, 'affected')) {
    const ranges = objectsIn(entry, 'ranges')
    const described = field(entry, 'package')
    if (described !== undefined) {
      const pkg = fieldsOf(described)
      const ecosystem = readName(requireField(pkg, 'ecosystem'))
      const name = readName(requireField(pkg, 'name'))
      // Commits are used only if no version range exists.
      const versioned = ranges.filter((range) => peek(range, 'type') !== 'GIT')
      const affected = add(
        `${ecosystem}/${name}`,
        name,
        ecosystem,
        entry,
        versioned.length > 0 ? versioned : ranges,
        ranges,
      )
      if (affected.product === '' || affected.product === peek(pkg, 'purl'))
        affected.product = optionalName(pkg, 'purl')
      continue
    }
    for (const range of ranges) {
      const repository = field(range, 'repo')
      if (repository === undefined) continue
      markRead(field(range, 'type'))
      const address = readName(repository)
      const name = address.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/\/+$/, '')
      const affected = add(`git/${name}`, name, 'git', entry, [range])
      affected.product = address === name ? '' : address
    }
  }
  return [...found.values()]
}

function scoresOf(
  root: Fields,
  ids: readonly string[],
  affected: readonly Affected[],
  budget: DocumentBudget,
): ScoreRecord[] {
  const byComponent = new Map([['', osvScores(root)]])
  for (const { name, entries } of affected) {
    for (const { entry } of entries) {
      const own = osvScores(entry)
      if (own.length === 0) continue
      const all = distinctScores([...(byComponent.get(name) ?? []), ...own])
      if (all.length > formatLimits.advisoryScoresMax) {
        throw problemWith(entry, `exceeds the limit of ${formatLimits.advisoryScoresMax} scores of ${name}`)
      }
      byComponent.set(name, all)
    }
  }
  const allCwes = osvCwes(root)
  return [...byComponent].flatMap(([component, severities]) => {
    const cwes = component === '' ? allCwes : []
    if (severities.length === 0 && cwes.length === 0) return []
    budget.scores(ids.length, root)
    return [...new Set(ids)].map((alias) => ({ alias, component, severities, cwes }))
  })
}

/** Returns the scores that the advisory cannot look up by its aliases, because its id is not an alias. */
function ownScores(id: string, scores: readonly ScoreRecord[]): Facts['scores'] {
  const general = scores.find(({ alias, component }) => alias === id && component === '')
  return isPlatformId(id) ? (general?.severities ?? []) : []
}

function recordOf(
  root: Value,
  facts: Facts,
  affected: Affected,
  tally: UnmappedTally,
  budget: DocumentBudget,
): AdvisoryRecord {
  const { id, aliases, modified, published, withdrawn, scores } = facts
  const { name, type, product } = affected
  const url = parsePackageUrl(product)
  const createdAt = published ?? modified
  // Some records have a publication time after their modification time.
  const updatedAt = [modified, createdAt]
    .filter((instant) => instant !== undefined)
    .sort(compareInstants)
    .at(-1)
  const created: SourceEvent = { at: createdAt ?? UNTIMED, type: manualDetection(), author: '', source: root }
  const fixed = affected.entries.flatMap(({ ranges }) => ranges.flatMap((range) => fixesOf(range, updatedAt)))
  return {
    ...emptyRecord,
    key: recordKey('osv', `${id}#${affected.key}`),
    advisoryId: isPlatformId(id) ? id : '',
    legacyAdvisoryId: id,
    artifactName: name,
    artifactType: url?.type ?? type,
    artifactArchitecture: url?.architecture ?? '',
    componentName: name,
    componentType: type,
    product,
    aliases: budget.aliases(aliases, root),
    events: buildHistory([created, ...fixed], tally),
    severities: scores,
    createdMs: createdAt?.ms,
    updatedMs: updatedAt?.ms,
    withdrawnMs: withdrawn?.ms,
  }
}

function fixesOf(range: Fields, at: Instant = UNTIMED): SourceEvent[] {
  return objectsIn(range, 'events').flatMap((event) => {
    const fixed = field(event, 'fixed')
    if (fixed === undefined) return []
    const type = createEventType({ case: 'fixed', value: { fixedVersion: readName(fixed) } })
    return [{ at, type, author: '', source: fixed }]
  })
}
