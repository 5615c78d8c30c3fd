import type { Date as Day, JsonValue, Policy, PolicyMode, Result } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { resourcesQuery } from '../../api/queries/resources.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import { ResourceLink } from '../../components/resource-link.tsx'

/** Policies, bindings and decisions as users read them. */

export const modeChoices = [
  { id: 'dry-run', name: 'Dry run', description: 'Records what it would deny' },
  { id: 'enforced', name: 'Enforced', description: 'Denies pulls' },
] as const

export const modeOf = (id: string): PolicyMode =>
  id === 'enforced'
    ? 'POLICY_MODE_ENFORCED'
    : id === 'dry-run'
      ? 'POLICY_MODE_DRY_RUN'
      : 'POLICY_MODE_UNSPECIFIED'

export const modeId = (mode: PolicyMode): 'enforced' | 'dry-run' =>
  mode === 'POLICY_MODE_ENFORCED' ? 'enforced' : 'dry-run'

export function ModeBadge({ mode }: { readonly mode: PolicyMode }) {
  return mode === 'POLICY_MODE_ENFORCED' ? (
    <Badge tone="good" title="Denies pulls">
      enforced
    </Badge>
  ) : (
    <Badge title="Records what it would deny; all pulls succeed">dry run</Badge>
  )
}

const results: Readonly<Record<Result, { readonly name: string; readonly tone: Tone }>> = {
  RESULT_UNSPECIFIED: { name: 'unknown', tone: 'plain' },
  RESULT_ALLOWED: { name: 'allowed', tone: 'good' },
  RESULT_DENIED: { name: 'denied', tone: 'bad' },
  RESULT_ERROR: { name: 'not evaluated', tone: 'warn' },
}

export const resultChoices = [
  { id: 'allowed', name: 'Allowed' },
  { id: 'denied', name: 'Denied' },
  { id: 'error', name: 'Not evaluated' },
] as const

export const resultOf = (id: string): Result | undefined =>
  resultChoices.some((choice) => choice.id === id) ? (`RESULT_${id.toUpperCase()}` as Result) : undefined

/** `mode`: in a dry run, nothing was denied in fact. */
export function ResultBadge({ result, mode }: { readonly result: Result; readonly mode: PolicyMode }) {
  const { name, tone } = results[result]
  const isFact = mode === 'POLICY_MODE_ENFORCED' || result === 'RESULT_ALLOWED'
  return (
    <Badge tone={isFact ? tone : tone === 'bad' ? 'warn' : tone}>{isFact ? name : `would be ${name}`}</Badge>
  )
}

/** A day as an ISO date; '' for none. */
export const dayText = (day: Day | undefined): string =>
  day === undefined ? '' : `${day.year}-${twoDigits(day.month)}-${twoDigits(day.day)}`

const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** An ISO date as a day; undefined if it is none, or no day of the calendar. */
export function dayOf(text = ''): Day | undefined {
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(text) : new Date(Number.NaN)
  // Some browsers take the 31st of a shorter month as the first days of the next one.
  if (Number.isNaN(date.getTime()) || !date.toISOString().startsWith(text)) return undefined
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

export function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'not set'
  if (Array.isArray(value)) return value.map(String).join(', ')
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
}

/** A parameter name as words: `grace_days` is "Grace days". */
export function parameterTitle(name: string): string {
  const words = name.replaceAll('_', ' ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

/** The values that a binding sets, each with its name. */
export function ParameterTexts({ parameters }: { readonly parameters: Readonly<Record<string, JsonValue>> }) {
  const entries = Object.entries(parameters)
  if (entries.length === 0) return <span className="muted">defaults</span>
  return (
    <ul className="plain-list">
      {entries.map(([name, value]) => (
        <li key={name} className="long-words">
          {parameterTitle(name)}: <bdi>{valueText(value)}</bdi>
        </li>
      ))}
    </ul>
  )
}

/** The folder or repository that something belongs to, by its name. */
export function Owner({ uid, here }: { readonly uid: string; readonly here: string }) {
  const { data } = useQuery(resourcesQuery([uid]))
  const resource = data?.get(uid)
  if (uid === here) return <>here</>
  if (resource === undefined) return <code className="long-text">{uid}</code>
  return (
    <ResourceLink resource={resource}>
      <bdi className="package-name">{resource.name}</bdi>
    </ResourceLink>
  )
}

/** The name of a policy; its id if the user cannot read it. */
export const policyName = (policies: readonly Policy[], id: string): string =>
  policies.find((policy) => policy.id === id)?.name ?? id
