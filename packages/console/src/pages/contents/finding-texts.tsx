import type { Finding, FindingSeverity, FindingState } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { decoded } from '../../address-query.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import { severityName, toneOfSeverity } from '../../components/severity.ts'

/** Findings as users read them. */

interface StateText {
  /** In the address. */
  readonly id: string
  readonly name: string
  readonly meaning: string
  readonly tone: Tone
}

export const stateTexts: Readonly<Record<FindingState, StateText>> = {
  STATE_AFFECTED: { id: 'affected', name: 'Affected', meaning: 'The package is affected', tone: 'bad' },
  STATE_PENDING_UPSTREAM: {
    id: 'pending-upstream',
    name: 'Waits for upstream',
    meaning: 'Affected; a fix must come from the authors of the package',
    tone: 'warn',
  },
  STATE_UNDER_INVESTIGATION: {
    id: 'under-investigation',
    name: 'Under investigation',
    meaning: 'Whether the package is affected is not decided',
    tone: 'warn',
  },
  STATE_UNKNOWN: {
    id: 'unknown',
    name: 'Unknown',
    meaning: 'The advisory has no versions that can be compared',
    tone: 'warn',
  },
  STATE_NOT_AFFECTED: {
    id: 'not-affected',
    name: 'Not affected',
    meaning: 'An analysis states that the package is not affected',
    tone: 'good',
  },
  STATE_UNSPECIFIED: { id: 'unspecified', name: 'Unspecified', meaning: '', tone: 'plain' },
}

/** States that a finding can have, the most urgent first. */
export const findingStates = (Object.keys(stateTexts) as FindingState[]).filter(
  (state) => state !== 'STATE_UNSPECIFIED',
)

export const affectingStates = findingStates.filter((state) => state !== 'STATE_NOT_AFFECTED')

export function FindingStateBadge({ state }: { readonly state: FindingState }) {
  const { name, meaning, tone } = stateTexts[state]
  return (
    <Badge tone={tone} title={meaning}>
      {name}
    </Badge>
  )
}

export function FindingSeverityBadge({
  severity,
  score,
}: {
  readonly severity: FindingSeverity
  readonly score?: Finding['score'] | undefined
}) {
  const name = severityName(severity)
  return (
    <Badge tone={toneOfSeverity(name)} title={name === 'unknown' ? 'No advisory has a score' : undefined}>
      {typeof score === 'number' ? `${score.toFixed(1)} ` : ''}
      {name}
    </Badge>
  )
}

/** The vulnerability of a finding, with a link to the advisory that decides its state. */
export function FindingId({ finding }: { readonly finding: Finding }) {
  const { vulnerability, aliases, advisoryUid, cwes } = finding
  return (
    <>
      {advisoryUid === '' ? (
        <bdi>{vulnerability}</bdi>
      ) : (
        <Link to="/advisories/$" params={{ _splat: advisoryUid }} className="package-name">
          {vulnerability}
        </Link>
      )}
      {aliases.length > 0 && <bdi className="second">{aliases.join(', ')}</bdi>}
      {cwes.length > 0 && <span className="second">{cwes.join(', ')}</span>}
    </>
  )
}

const percents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })

/** What catalogs state about the exploitation of a vulnerability. */
export function Exploitation({ finding }: { readonly finding: Finding }) {
  const { knownExploitation: known, epssProbability: probability } = finding
  return (
    <>
      {known !== undefined && (
        <Badge tone="bad" title={`Known to be exploited since ${known.addedDate}. ${known.requiredAction}`}>
          {known.ransomware ? 'exploited by ransomware' : 'exploited'}
        </Badge>
      )}
      {typeof probability === 'number' && (
        <span className="second" title="Probability that it is exploited within 30 days">
          EPSS {percents.format(probability)}
        </span>
      )}
      {known === undefined && probability === undefined && <span className="muted">nothing known</span>}
      {known !== undefined && known.dueDate !== '' && (
        <span className="second">mitigate by {known.dueDate}</span>
      )}
    </>
  )
}

const VERSION = /@[^@?]*(\?.*)?$/

/** A package URL without its version and qualifiers, which are shown elsewhere. */
const packageOf = (purl: string): string => purl.replace(VERSION, '').replace(/^pkg:/, '')

export function FindingPackage({ finding: { purl, version } }: { readonly finding: Finding }) {
  return (
    <>
      <bdi className="package-name" title={purl}>
        {decoded(packageOf(purl))}
      </bdi>
      <bdi className="second">{version === '' ? 'version unknown' : version}</bdi>
    </>
  )
}

export function FixedVersion({ finding: { state, fixedVersion } }: { readonly finding: Finding }) {
  if (fixedVersion !== '') return <bdi className="package-name">{fixedVersion}</bdi>
  if (state === 'STATE_NOT_AFFECTED') return <span className="muted">not needed</span>
  return <span className="muted">no fix known</span>
}
