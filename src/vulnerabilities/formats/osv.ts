import type { AdvisoryRecord, ScoreRecord } from '../advisory-record.ts'
import { distinctScores, osvScores } from './cvss-scores.ts'
import { detectedByHand, eventType, type Happening, historyOf } from './event-history.ts'
import { checkCount, distinctAliases, emptyRecord, type FormatReader } from './format-reading.ts'
import { compareInstants, type Instant, UNTIMED } from './instants.ts'
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
export const readOsv: FormatReader = (root, tally) => {
  checkVersion(root)
  const id = takeVulnerabilityId(requiredField(root, 'id'))
  const facts = {
    id,
    aliases: ['aliases', 'upstream'].flatMap((name) => entriesOf(root, name).map(takeAlias)),
    modified: told(takeInstant(requiredField(root, 'modified'))),
    published: told(optionalInstant(root, 'published')),
    withdrawn: optionalInstant(root, 'withdrawn'),
  }
  const published = publishedRecords(root, id, tally)
  if (published !== undefined)
    return { id, revisionMs: facts.modified?.ms, advisories: published, scores: [] }
  const affected = affectedIn(root)
  // What was taken back says nothing of others any more.
  const scores = facts.withdrawn === undefined ? scoresOf(root, id, affected) : []
  const advisories = affected.map((each) =>
    recordOf(root, { ...facts, scores: ownScores(id, scores) }, each, tally),
  )
  return { id, revisionMs: facts.modified?.ms, advisories, scores }
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
  readonly entries: { readonly entry: Fields; readonly ranges: readonly Fields[] }[]
}

/** Each package once, and each repository of what has no package. */
function affectedIn(root: Fields): Affected[] {
  const found = new Map<string, Affected>()
  const put = (
    key: string,
    name: string,
    type: string,
    entry: Fields,
    ranges: readonly Fields[],
  ): Affected => {
    const affected = found.get(key) ?? { key, name, type, product: '', entries: [] }
    affected.entries.push({ entry, ranges })
    found.set(key, affected)
    checkCount(found.size, entry)
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

function scoresOf(root: Fields, id: string, affected: readonly Affected[]): ScoreRecord[] {
  const aliases = [...new Set([id, ...entriesOf(root, 'aliases').map(takeAlias)])]
  const byComponent = new Map([['', osvScores(root)]])
  for (const { name, entries } of affected) {
    const own = entries.flatMap(({ entry }) => osvScores(entry))
    byComponent.set(name, distinctScores([...(byComponent.get(name) ?? []), ...own]))
  }
  return [...byComponent]
    .filter(([, severities]) => severities.length > 0)
    .flatMap(([component, severities]) => aliases.map((alias) => ({ alias, component, severities })))
}

/** Scores that an advisory would not find by one of its aliases, because its id is none. */
function ownScores(id: string, scores: readonly ScoreRecord[]): Facts['scores'] {
  const general = scores.find(({ alias, component }) => alias === id && component === '')
  return isPlatformId(id) ? (general?.severities ?? []) : []
}

function recordOf(root: Value, facts: Facts, affected: Affected, tally: UnmappedTally): AdvisoryRecord {
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
  const isPlatforms = isPlatformId(id)
  return {
    ...emptyRecord,
    key: recordKey('osv', `${id}#${affected.key}`),
    advisoryId: isPlatforms ? id : '',
    legacyAdvisoryId: id,
    artifactName: name,
    artifactType: url?.type ?? type,
    artifactArchitecture: url?.architecture ?? '',
    componentName: name,
    componentType: type,
    product,
    aliases: distinctAliases(isPlatforms ? aliases : [id, ...aliases], root),
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
