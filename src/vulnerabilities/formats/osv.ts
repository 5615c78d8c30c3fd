import { limits } from '../../core/limits.ts'
import type { AdvisoryRecord, ScoreRecord } from '../advisory-record.ts'
import { distinctScores, osvScores } from './cvss-scores.ts'
import type { DocumentGrowth } from './document-growth.ts'
import { detectedByHand, eventType, type Happening, historyOf } from './event-history.ts'
import { emptyRecord, type FormatReader } from './format-reading.ts'
import { compareInstants, type Instant, UNTIMED } from './instants.ts'
import { osvCarrier } from './osv-carried.ts'
import { packageNameOf } from './package-url.ts'
import { publishedRecords } from './published-osv.ts'
import { recordKey } from './record-key.ts'
import { type Fields, problemWith, type Value } from './source-value.ts'
import type { UnmappedTally } from './unmapped.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  objectsIn,
  optionalInstant,
  optionalName,
  peek,
  requiredField,
  takeAnyway,
  takeInstant,
  takeName,
} from './value-fields.ts'
import { isPlatformId, takeAlias, takeVulnerabilityId } from './vulnerability-id.ts'

/** OSV records, of schema 1: one vulnerability, and one advisory for each package or repository that it affects. */
export const readOsv: FormatReader = (root, tally, growth) => {
  checkVersion(root)
  const id = takeVulnerabilityId(requiredField(root, 'id'))
  const modified = told(takeInstant(requiredField(root, 'modified')))
  const whole = publishedRecords(root, id, tally, growth)
  if (whole !== undefined) return { id, revisionMs: modified?.ms, advisories: whole, scores: [] }
  const aliases = entriesOf(root, 'aliases').map(takeAlias)
  const upstream = entriesOf(root, 'upstream').map(takeAlias)
  const withdrawn = optionalInstant(root, 'withdrawn')
  const affected = affectedIn(root, growth)
  // What was taken back says nothing of others any more.
  const scores = withdrawn === undefined ? scoresOf(root, [id, ...aliases], affected, growth) : []
  const facts = {
    id,
    aliases: [...(isPlatformId(id) ? [] : [id]), ...aliases, ...upstream],
    modified,
    published: told(optionalInstant(root, 'published')),
    withdrawn,
    scores: ownScores(id, scores),
  }
  const carried = osvCarrier(root, affected.length)
  const advisories = affected.map((each) => ({
    ...recordOf(root, facts, each, tally, growth),
    osv: carried(each.entries.map(({ entry, all: ranges }) => ({ entry, ranges }))),
  }))
  return { id, revisionMs: modified?.ms, advisories, scores }
}

/** What holds for all that a record affects. */
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
  const text = takeName(version)
  if (!/^1(?:\.\d+)*(?:-[\w.]+)?$/.test(text)) {
    throw problemWith(
      version,
      `is ${JSON.stringify(text)}, another model than 1, which is the one that is read`,
    )
  }
}

const YEAR_2_MS = Date.parse('0002-01-01T00:00:00Z')

/** Some write the zero of their clock, in the year 1, for a time that they do not know. */
function told(instant: Instant | undefined): Instant | undefined {
  return instant === undefined || instant.ms < YEAR_2_MS ? undefined : instant
}

/** A package or repository that is affected, with all entries about it. */
interface Affected {
  readonly key: string
  readonly name: string
  readonly type: string
  /** Package URL, or address of the repository. */
  product: string
  readonly entries: AffectedEntry[]
}

interface AffectedEntry {
  readonly entry: Fields
  /** Those that tell when it was fixed. */
  readonly ranges: Fields[]
  /** Those that are about this package or repository. */
  readonly all: Fields[]
}

/** Each package once, and each repository of what has no package. */
function affectedIn(root: Fields, growth: DocumentGrowth): Affected[] {
  const found = new Map<string, Affected>()
  const put = (
    key: string,
    name: string,
    type: string,
    entry: Fields,
    ranges: readonly Fields[],
    all = ranges,
  ): Affected => {
    const known = found.get(key)
    if (known === undefined) growth.advisory(entry)
    const affected = known ?? { key, name, type, product: '', entries: [] }
    const last = affected.entries.at(-1)
    if (last?.entry === entry) {
      last.ranges.push(...ranges)
      last.all.push(...all)
    } else {
      affected.entries.push({ entry, ranges: [...ranges], all: [...all] })
    }
    found.set(key, affected)
    return affected
  }
  for (const entry of objectsIn(root, 'affected')) {
    const ranges = objectsIn(entry, 'ranges')
    const described = field(entry, 'package')
    if (described !== undefined) {
      const pkg = fieldsOf(described)
      const ecosystem = takeName(requiredField(pkg, 'ecosystem'))
      const name = takeName(requiredField(pkg, 'name'))
      // Commits say when something was fixed only where no version does.
      const versioned = ranges.filter((range) => peek(range, 'type') !== 'GIT')
      const affected = put(
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
      takeAnyway(field(range, 'type'))
      const address = takeName(repository)
      const name = address.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/\/+$/, '')
      const affected = put(`git/${name}`, name, 'git', entry, [range])
      affected.product = address === name ? '' : address
    }
  }
  return [...found.values()]
}

function scoresOf(
  root: Fields,
  ids: readonly string[],
  affected: readonly Affected[],
  growth: DocumentGrowth,
): ScoreRecord[] {
  const byComponent = new Map([['', osvScores(root)]])
  for (const { name, entries } of affected) {
    for (const { entry } of entries) {
      const own = osvScores(entry)
      if (own.length === 0) continue
      const all = distinctScores([...(byComponent.get(name) ?? []), ...own])
      if (all.length > limits.advisoryScoresMax) {
        throw problemWith(entry, `has one of more than ${limits.advisoryScoresMax} scores of ${name}`)
      }
      byComponent.set(name, all)
    }
  }
  return [...byComponent].flatMap(([component, severities]) => {
    if (severities.length === 0) return []
    growth.scores(ids.length, root)
    return [...new Set(ids)].map((alias) => ({ alias, component, severities }))
  })
}

/** Scores that an advisory would not find by one of its aliases, because its id is none. */
function ownScores(id: string, scores: readonly ScoreRecord[]): Facts['scores'] {
  const general = scores.find(({ alias, component }) => alias === id && component === '')
  return isPlatformId(id) ? (general?.severities ?? []) : []
}

function recordOf(
  root: Value,
  facts: Facts,
  affected: Affected,
  tally: UnmappedTally,
  growth: DocumentGrowth,
): AdvisoryRecord {
  const { id, aliases, modified, published, withdrawn, scores } = facts
  const { name, type, product } = affected
  const url = packageNameOf(product)
  const since = published ?? modified
  // Some records were published after they were last changed.
  const until = [modified, since]
    .filter((instant) => instant !== undefined)
    .sort(compareInstants)
    .at(-1)
  const created: Happening = { at: since ?? UNTIMED, type: detectedByHand(), author: '', source: root }
  const fixed = affected.entries.flatMap(({ ranges }) => ranges.flatMap((range) => fixesOf(range, until)))
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
    aliases: growth.aliases(aliases, root),
    events: historyOf([created, ...fixed], tally),
    severities: scores,
    createdMs: since?.ms,
    updatedMs: until?.ms,
    withdrawnMs: withdrawn?.ms,
  }
}

function fixesOf(range: Fields, at: Instant = UNTIMED): Happening[] {
  return objectsIn(range, 'events').flatMap((event) => {
    const fixed = field(event, 'fixed')
    if (fixed === undefined) return []
    const type = eventType({ case: 'fixed', value: { fixedVersion: takeName(fixed) } })
    return [{ at, type, author: '', source: fixed }]
  })
}
