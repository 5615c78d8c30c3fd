import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositiveType } from '#gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { AdvisoryRecord } from '../advisory-record.ts'
import { eventType, type Happening, historyOf } from './event-history.ts'
import { emptyRecord, type FormatReader } from './format-reading.ts'
import { UNTIMED } from './instants.ts'
import { recordKey } from './record-key.ts'
import { type Fields, pathOf, problemWith, type Value } from './source-value.ts'
import type { UnmappedTally } from './unmapped.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  isOneLine,
  objectsIn,
  optionalName,
  requiredField,
  takeName,
  takeNote,
} from './value-fields.ts'
import { isPlatformId, isVulnerabilityId } from './vulnerability-id.ts'

/** Alpine-style security databases: for each package, which version fixed what. They have no times: that of the importing counts. */
export const readSecdb: FormatReader = (root, tally, growth) => {
  const id = repositoryOf(root)
  const architecture = architectureOf(root)
  requiredField(root, 'packages')
  /** By package and id: a package may be there twice, and an id under several versions. */
  const found = new Map<string, { pkg: string; id: string; happenings: Happening[] }>()
  for (const entry of objectsIn(root, 'packages')) {
    const pkg = fieldsOf(requiredField(entry, 'pkg'))
    const name = takeName(requiredField(pkg, 'name'))
    for (const { vulnerability, happening } of fixesOf(pkg, tally)) {
      const key = `${name}:${vulnerability}`
      const known = found.get(key)
      if (known === undefined) {
        growth.advisory(happening.source)
        found.set(key, { pkg: name, id: vulnerability, happenings: [happening] })
      } else {
        known.happenings.push(happening)
      }
    }
  }
  const advisories = [...found].map(([name, { pkg, id: vulnerability, happenings }]): AdvisoryRecord => {
    const isPlatforms = isPlatformId(vulnerability)
    return {
      ...emptyRecord,
      key: recordKey('secdb', `${id}:${name}`),
      advisoryId: isPlatforms ? vulnerability : '',
      artifactName: pkg,
      artifactType: 'apk',
      artifactArchitecture: architecture,
      origin: pkg,
      aliases: isPlatforms ? [] : [vulnerability],
      events: historyOf(happenings, tally),
    }
  })
  return { id, revisionMs: undefined, advisories, scores: [] }
}

/** What tells this database from others: `https://dl-cdn.alpinelinux.org/alpine/v3.19/main`. */
function repositoryOf(root: Fields): string {
  const parts = ['urlprefix', 'distroversion', 'reponame'].map((name) => optionalName(root, name))
  const id = parts.filter((part) => part !== '').join('/')
  if (id === '') throw problemWith(root, 'lacks urlprefix and reponame, which tell it from other databases')
  return id
}

/** Of a database for one architecture; of several, none is the one of an advisory. */
function architectureOf(root: Fields): string {
  const architectures = entriesOf(root, 'archs')
  return architectures.length === 1 ? takeName(architectures[0] as Value) : ''
}

/** Versions that say that no version was ever affected. */
const neverAffected = ['0', '0-r0']

function* fixesOf(
  pkg: Fields,
  tally: UnmappedTally,
): Generator<{ vulnerability: string; happening: Happening }> {
  const secfixes = field(pkg, 'secfixes')
  if (secfixes === undefined) return
  const byVersion = fieldsOf(secfixes)
  byVersion.isDictionary = true
  for (const [version, ids] of byVersion.byName) {
    if (version === '' || !isOneLine(version)) throw problemWith(ids, 'is not under a version')
    const type = neverAffected.includes(version)
      ? eventType({ case: 'falsePositiveDetermination', value: { type: FalsePositiveType.UNSPECIFIED } })
      : eventType({ case: 'fixed', value: { fixedVersion: version } })
    for (const entry of entriesOf(byVersion, version)) {
      for (const vulnerability of idsIn(entry, tally)) {
        yield { vulnerability, happening: { at: UNTIMED, type, author: '', source: entry } }
      }
    }
  }
}

/** `CVE-2019-2389 XSA-123 (+ regression fix)`: several names of one vulnerability, and remarks. */
function idsIn(entry: Value, tally: UnmappedTally): string[] {
  const words = takeNote(entry)
    .split(/\s+/)
    .map((word) => word.replace(/[,;]$/, ''))
  const ids = words.filter(isVulnerabilityId)
  const remarks = words.filter((word) => word !== '' && !isVulnerabilityId(word)).length
  if (remarks > 0) tally.add(`${pathOf(entry, 'alike')} (no id)`, remarks)
  return [...new Set(ids)]
}
