import type { AdvisoryState } from '@berth/advisory-formats/history/advisory-states.ts'
import { Badge, type Tone } from '../../components/badge.tsx'

/** States of advisories as users read them. */

interface StateText {
  readonly name: string
  readonly meaning: string
  readonly tone: Tone
}

export const stateTexts: Readonly<Record<AdvisoryState, StateText>> = {
  detected: { name: 'Detected', meaning: 'Found, and not analyzed yet', tone: 'warn' },
  affected: { name: 'Affected', meaning: 'The package is affected', tone: 'bad' },
  'not-affected': { name: 'Not affected', meaning: 'The package is not affected', tone: 'good' },
  fixed: { name: 'Fixed', meaning: 'A version fixes it', tone: 'good' },
  patched: { name: 'Patched', meaning: 'Versions contain a patch', tone: 'good' },
  'waits-for-upstream': {
    name: 'Waits for upstream',
    meaning: 'A fix must come from the authors of the component',
    tone: 'warn',
  },
  'wont-fix': { name: 'Fix not planned', meaning: 'No fix is planned', tone: 'bad' },
  'wont-analyse': { name: 'Analysis not planned', meaning: 'No analysis is planned', tone: 'plain' },
}

export function StateBadge({ state }: { readonly state: AdvisoryState | undefined }) {
  if (state === undefined) return <span className="muted">no event</span>
  const { name, meaning, tone } = stateTexts[state]
  return (
    <Badge tone={tone} title={meaning}>
      {name}
    </Badge>
  )
}
