import type { AdvisoryFeed, ImportCounts } from '@berth/client'
import { isSyncing } from '../../api/queries/advisories.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import type { Choice } from '../../components/field.tsx'
import { formatNumber, plural } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'

/** Feeds as users read them. */

const stateTexts: Readonly<Record<AdvisoryFeed['state'], readonly [name: string, tone: Tone]>> = {
  STATE_UNSPECIFIED: ['unknown', 'plain'],
  STATE_WAITING: ['waiting for its first run', 'plain'],
  STATE_RUNNING: ['running', 'plain'],
  STATE_SUCCEEDED: ['up to date', 'good'],
  STATE_FAILED: ['failed', 'bad'],
  STATE_PAUSED: ['paused', 'warn'],
}

export function FeedState({ feed: { state, lastRun } }: { readonly feed: AdvisoryFeed }) {
  const [name, tone] = stateTexts[state]
  const rejected = lastRun?.rejected ?? 0
  return (
    <span className="badges">
      <Badge tone={tone}>{name}</Badge>
      {rejected > 0 && <Badge tone="warn">{plural(rejected, 'document')} rejected</Badge>}
    </span>
  )
}

/** A run that is due starts within seconds. */
export function NextRun({ feed }: { readonly feed: AdvisoryFeed }) {
  if (isSyncing(feed)) return 'now'
  return <Time value={feed.nextAttemptTime} absent="paused" isRelative />
}

const intervals = [
  ['300s', '5 minutes'],
  ['900s', '15 minutes'],
  ['1800s', '30 minutes'],
  ['3600s', 'hour'],
  ['21600s', '6 hours'],
  ['43200s', '12 hours'],
  ['86400s', 'day'],
  ['604800s', '7 days'],
  ['2592000s', '30 days'],
] as const

export const DEFAULT_INTERVAL = '3600s'

export const intervalText = (interval: string): string =>
  `Every ${intervals.find(([id]) => id === interval)?.[1] ?? `${formatNumber(Number.parseFloat(interval))} seconds`}`

/** `current` is a choice too, if another client has set it. */
export function intervalChoices(current: string): readonly Choice[] {
  const known = intervals.map(([id]): Choice => ({ id, name: intervalText(id) }))
  return known.some(({ id }) => id === current)
    ? known
    : [{ id: current, name: intervalText(current) }, ...known]
}

const countTexts = [
  ['created', 'created'],
  ['updated', 'updated'],
  ['unchanged', 'unchanged'],
  ['withdrawn', 'withdrawn'],
  ['covered', 'superseded'],
] as const

/** For example "3 created, 12 unchanged". */
export const countsText = (counts: ImportCounts): string =>
  countTexts
    .flatMap(([field, text]) => (counts[field] > 0 ? `${formatNumber(counts[field])} ${text}` : []))
    .join(', ') || 'nothing changed'
