import { Badge, type Tone } from '../../components/badge.tsx'
import type { Change } from './difference.ts'

const tones: Readonly<Record<Change, Tone>> = {
  added: 'good',
  removed: 'bad',
  changed: 'warn',
  same: 'plain',
}

/** How a value differs. `tone`: where more is not better, such as vulnerabilities. */
export function ChangeBadge({
  change,
  tone = tones[change],
}: {
  readonly change: Change
  readonly tone?: Tone
}) {
  return <Badge tone={tone}>{change}</Badge>
}
