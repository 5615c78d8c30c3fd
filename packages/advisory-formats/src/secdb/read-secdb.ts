import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositiveType } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { AdvisoryRecord } from '../advisory-record.ts'
import { buildHistory, createEventType, type SourceEvent } from '../reading/event-history.ts'
import { emptyRecord, type FormatReader } from '../reading/format-reader.ts'
import { UNTIMED } from '../reading/instants.ts'
import { recordKey } from '../reading/record-key.ts'
import type { UnmappedTally } from '../reading/unmapped-fields.ts'
import { isPlatformId, isVulnerabilityId } from '../reading/vulnerability-id.ts'
import { type Fields, pathOf, problemWith, type Value } from '../syntax/source-value.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  isOneLine,
  objectsIn,
  optionalName,
  readName,
  readNote,
  requireField,
} from '../syntax/value-fields.ts'

/** Reads Alpine-style security databases: for each package, which version fixed what. They have no times, so the time of the import applies. */
export const readSecdb: FormatReader = (root, tally, budget) => {
  const id = repositoryOf(root)
  const architecture = architectureOf(root)
  requireField(root, 'packages')
  /** By package and id: a package may occur twice, and an id under several versions. */
  const found = new Map<string, { pkg: string; id: string; sourceEvents: SourceEvent[] }>()
  for (const entry of objectsIn(root, 'packages')) {
    const pkg = fieldsOf(requireField(entry, 'pkg'))
    const name = readName(requireField(pkg, 'name'))
    for (const { vulnerability, happening: sourceEvent } of fixesOf(pkg, tally)) {
      const key = `${name}:${vulnerability}`
      const known = found.get(key)
      if (known === undefined) {
        budget.advisory(sourceEvent.source)
        found.set(key, { pkg: name, id: vulnerability, sourceEvents: [sourceEvent] })
      } else {
        known.sourceEvents.push(sourceEvent)
      }
    }
  }
  const advisories = [...found].map(([name, { pkg, id: vulnerability, sourceEvents }]): AdvisoryRecord => {
    const hasPlatformId = isPlatformId(vulnerability)
    return {
      ...emptyRecord,
      key: recordKey('secdb', `${id}:${name}`),
      advisoryId: hasPlatformId ? vulnerability : '',
      artifactName: pkg,
      artifactType: 'apk',
      artifactArchitecture: architecture,
      origin: pkg,
      aliases: hasPlatformId ? [] : [vulnerability],
      events: buildHistory(sourceEvents, tally),
    }
  })
  return { id, revisionMs: undefined, advisories, scores: [] }
}

/** Returns the identity of the database: `https://dl-cdn.alpinelinux.org/alpine/v3.19/main`. */
function repositoryOf(root: Fields): string {
  const parts = ['urlprefix', 'distroversion', 'reponame'].map((name) => optionalName(root, name))
  const id = parts.filter((part) => part !== '').join('/')
  if (id === '') throw problemWith(root, 'lacks urlprefix and reponame, which identify the database')
  return id
}

/** Returns the architecture of a database for one architecture; '' for several. */
function architectureOf(root: Fields): string {
  const architectures = entriesOf(root, 'archs')
  return architectures.length === 1 ? readName(architectures[0] as Value) : ''
}

/** Versions that mean that no version was ever affected. */
const neverAffected = ['0', '0-r0']

function* fixesOf(
  pkg: Fields,
  tally: UnmappedTally,
): Generator<{ vulnerability: string; happening: SourceEvent }> {
  const secfixes = field(pkg, 'secfixes')
  if (secfixes === undefined) return
  const byVersion = fieldsOf(secfixes)
  byVersion.isDictionary = true
  for (const [version, ids] of byVersion.byName) {
    if (version === '' || !isOneLine(version)) throw problemWith(ids, 'must have a version as its name')
    const type = neverAffected.includes(version)
      ? createEventType({
          case: 'falsePositiveDetermination',
          value: { type: FalsePositiveType.UNSPECIFIED },
        })
      : createEventType({ case: 'fixed', value: { fixedVersion: version } })
    for (const entry of entriesOf(byVersion, version)) {
      for (const vulnerability of idsIn(entry, tally)) {
        yield { vulnerability, happening: { at: UNTIMED, type, author: '', source: entry } }
      }
    }
  }
}

/** Reads `CVE-2019-2389 XSA-123 (+ regression fix)`: several names of one vulnerability, and remarks. */
function idsIn(entry: Value, tally: UnmappedTally): string[] {
  const words = readNote(entry)
    .split(/\s+/)
    .map((word) => word.replace(/[,;]$/, ''))
  const ids = words.filter(isVulnerabilityId)
  const unrecognized = words.filter((word) => word !== '' && !isVulnerabilityId(word)).length
  if (unrecognized > 0) tally.add(`${pathOf(entry, 'alike')} (no id)`, unrecognized)
  return [...new Set(ids)]
}
