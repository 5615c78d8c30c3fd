import type { AdvisoryEvent } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { latestApprovedEvent } from '../publishing/latest-event.ts'
import type { SecdbSettings } from '../publishing/publication-settings.ts'
import { eventMs, fixedVersions, type PublishedAdvisory } from '../publishing/published-advisory.ts'

/** Writes Alpine-style security databases (for each package, which version fixed what) piece by piece, in the order of names. */

/** The version of a package that was never affected. */
const NEVER_AFFECTED = '0'

/** Returns the start of a database. Packages follow, separated by commas, then the footer. */
export function secdbHeader({ apkurl, archs, reponame, urlprefix, distroversion }: SecdbSettings): string {
  const head = {
    ...(apkurl !== '' && { apkurl }),
    ...(archs.length > 0 && { archs }),
    ...(distroversion !== '' && { distroversion }),
    ...(reponame !== '' && { reponame }),
    ...(urlprefix !== '' && { urlprefix }),
  }
  return `${JSON.stringify({ ...head, packages: [] }).slice(0, -2)}`
}

export const secdbFooter = ']}\n'

/** Returns the entry of a package; undefined if it has no known fixes. */
export function secdbEntry(name: string, advisories: readonly PublishedAdvisory[]): string | undefined {
  const byVersion = new Map<string, Set<string>>()
  for (const { advisory } of advisories) {
    for (const version of versionsOf(advisory.events)) {
      const ids = byVersion.get(version) ?? new Set()
      for (const alias of advisory.aliases) ids.add(alias)
      byVersion.set(version, ids)
    }
  }
  const secfixes = [...byVersion]
    .filter(([, ids]) => ids.size > 0)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([version, ids]) => `${JSON.stringify(version)}:${JSON.stringify([...ids].sort())}`)
  // Not as an object: it would move integer keys to the front.
  return secfixes.length === 0
    ? undefined
    : `{"pkg":{"name":${JSON.stringify(name)},"secfixes":{${secfixes.join(',')}}}}`
}

/** Returns the versions of the newest event. Events of a database without times are all equally new. */
function versionsOf(events: readonly AdvisoryEvent[]): string[] {
  const latest = latestApprovedEvent(events)
  if (latest === undefined || versionsIn(latest).length === 0) return []
  return events.filter((event) => eventMs(event) === eventMs(latest)).flatMap(versionsIn)
}

function versionsIn(event: AdvisoryEvent): string[] {
  return event.type.case === 'falsePositiveDetermination' ? [NEVER_AFFECTED] : fixedVersions(event)
}
