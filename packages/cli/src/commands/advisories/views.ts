import {
  currentState,
  eventState,
  lastFixedVersion,
} from '@berth/advisory-formats/history/advisory-states.ts'
import { severityRater } from '@berth/advisory-formats/severity/severity-rater.ts'
import type { Advisory, AdvisoryEvent } from '@berth/client/berth.ts'
import { idColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'
import { eventSummary } from './event-summary.ts'

/** Views of advisories and their events. */

export const advisoryView: View<Advisory> = {
  columns: [
    { title: 'ID', kind: 'name', value: ({ advisoryId }) => advisoryId },
    { title: 'PACKAGE', kind: 'name', value: ({ artifactName }) => artifactName },
    {
      title: 'COMPONENT',
      // Usually the package itself.
      value: ({ componentName, artifactName }) => (componentName === artifactName ? '' : componentName),
    },
    { title: 'CVE', kind: 'name', value: primaryAlias },
    { title: 'SEVERITY', kind: 'name', value: formatSeverity },
    { title: 'STATE', kind: 'name', value: (advisory) => currentState(advisory) ?? '' },
    { title: 'FIXED IN', value: lastFixedVersion },
    { title: 'AGE', kind: 'name', value: ({ createTime = '' }) => formatAge(createTime) },
    { title: 'ALIASES', kind: 'long', value: ({ aliases }) => aliases.join(', '), wide: true },
    {
      title: 'VECTOR',
      value: ({ severities }) => severityRater.worstRating(severities)?.vector ?? '',
      wide: true,
    },
    { title: 'TYPE', value: ({ artifactType }) => artifactType, wide: true },
    { title: 'ARCHITECTURE', value: ({ artifactArchitecture }) => artifactArchitecture, wide: true },
    { title: 'COMPONENT TYPE', value: ({ componentType }) => componentType, wide: true },
    { title: 'LOCATION', kind: 'long', value: ({ componentLocation }) => componentLocation, wide: true },
    { title: 'LEGACY ID', value: ({ legacyAdvisoryId = '' }) => legacyAdvisoryId, wide: true },
    { title: 'AUTHOR', value: ({ author }) => author, wide: true },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime = '' }) => updateTime, wide: true },
    { ...idColumn, title: 'UID', wide: true },
  ],
  tree: {
    label: (advisory) => [advisory.advisoryId, advisory.artifactName, currentState(advisory)].join(' '),
    uid: ({ uid }) => uid,
  },
  empty: 'no advisories visible to you',
}

/** A single advisory; its events are a separate table. */
export const detailView: View<Advisory> = {
  ...advisoryView,
  columns: [
    ...advisoryView.columns.filter(({ title }) => title !== 'AGE' && title !== 'UPDATED'),
    { title: 'CREATED', kind: 'time', value: ({ createTime = '' }) => createTime },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime = '' }) => updateTime },
    { title: 'WITHDRAWN', kind: 'time', value: ({ deleteTime = '' }) => deleteTime },
  ],
}

export const eventView: View<AdvisoryEvent> = {
  columns: [
    { title: 'TIME', kind: 'time', value: ({ createTime = '' }) => createTime },
    { title: 'EVENT', kind: 'name', value: (event) => eventState(event) ?? '' },
    { title: 'DETAILS', kind: 'long', value: eventSummary },
    { title: 'BY', value: ({ author, reviewer }) => [author, reviewer].filter(Boolean).join(', ') },
    {
      title: 'REVIEW',
      value: ({ reviewState }) => reviewState.replace('REVIEW_STATE_', '').toLowerCase(),
      wide: true,
    },
  ],
  empty: 'no events',
}

/** Returns the CVE id, or else the first alias. */
function primaryAlias({ aliases }: Advisory): string {
  return aliases.find((alias) => alias.startsWith('CVE-')) ?? aliases[0] ?? ''
}

/** `9.8 critical`. */
function formatSeverity({ severities }: Advisory): string {
  const worst = severityRater.worstRating(severities)
  return worst === undefined ? '' : `${worst.score.toFixed(1)} ${worst.label}`
}

const DAY_MS = 24 * 60 * 60 * 1000
const ages = [
  ['y', 365 * DAY_MS],
  ['mo', 30 * DAY_MS],
  ['d', DAY_MS],
  ['h', DAY_MS / 24],
  ['m', DAY_MS / 24 / 60],
] as const

/** Formats the age in its largest unit: `3d`, `5mo`. */
function formatAge(iso: string, now = Date.now()): string {
  const ms = now - Date.parse(iso)
  if (Number.isNaN(ms)) return ''
  const [unit, length] = ages.find(([, length]) => ms >= length) ?? ['s', 1000]
  return `${Math.max(0, Math.floor(ms / length))}${unit}`
}
