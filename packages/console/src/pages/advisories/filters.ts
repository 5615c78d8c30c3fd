import {
  type AdvisoryState,
  eventTypeFilter,
  states,
} from '@berth/advisory-formats/history/advisory-states.ts'
import type { ListAdvisoriesRequest, ReviewState } from '@berth/client'
import type { AddressState } from '../../address-query.ts'
import { quoted, sortOf } from '../../components/copy.tsx'
import type { Choice } from '../../components/field.tsx'
import { stateTexts } from './states.tsx'

/** The filters of the search: each has the name of its flag on the command line, in the address too. */

interface TextFilterText {
  readonly name: string
  readonly label: string
  readonly placeholder?: string
}

/** Filters with values that are separated by commas. */
const textFields = {
  cve: 'aliases',
  package: 'artifactNames',
  id: 'advisoryIds',
  'legacy-id': 'legacyAdvisoryIds',
  'package-type': 'artifactTypes',
  arch: 'artifactArchitectures',
  component: 'componentNames',
  'component-type': 'componentTypes',
  location: 'componentLocations',
  author: 'eventAuthors',
  'not-author': 'excludeEventAuthors',
  reviewer: 'eventReviewers',
} as const satisfies Readonly<Record<string, keyof ListAdvisoriesRequest>>

export const firstFilters: readonly TextFilterText[] = [
  { name: 'query', label: 'Text', placeholder: 'Part of a package, component or alias' },
  { name: 'cve', label: 'Vulnerability', placeholder: 'CVE-2024-6119' },
  { name: 'package', label: 'Package', placeholder: 'openssl' },
]

export const moreFilters: readonly TextFilterText[] = [
  { name: 'origin', label: 'Built from package', placeholder: 'With all packages built from it' },
  { name: 'component', label: 'Component', placeholder: 'golang.org/x/net' },
  { name: 'component-type', label: 'Type of component', placeholder: 'go-module' },
  { name: 'location', label: 'Path of component' },
  { name: 'package-type', label: 'Type of package', placeholder: 'apk' },
  { name: 'arch', label: 'Architecture', placeholder: 'x86_64' },
  { name: 'id', label: 'Advisory id', placeholder: 'CGA-2222-3333-4444' },
  { name: 'legacy-id', label: 'Older id' },
  { name: 'author', label: 'Author of an event' },
  { name: 'not-author', label: 'Without events of author' },
  { name: 'reviewer', label: 'Reviewer of an event' },
]

const stateChoices: readonly Choice[] = states.map((id) => ({
  id,
  name: stateTexts[id].name,
  description: stateTexts[id].meaning,
}))

const reviewStates = {
  pending: 'Waiting for a reviewer',
  approved: 'Approved',
  'request-changes': 'Changes requested',
  rejected: 'Rejected',
} as const

const reviewChoices: readonly Choice[] = Object.entries(reviewStates).map(([id, name]) => ({
  id,
  name,
}))

export const selectFilters = [
  { name: 'state', label: 'State', choices: stateChoices },
  { name: 'event', label: 'Any event', choices: stateChoices },
  { name: 'review-state', label: 'Review of an event', choices: reviewChoices },
] as const

export const DEFAULT_ORDER = 'updated_at desc'

const valuesOf = (text: string) =>
  text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '')

const isState = (text: string): text is AdvisoryState => (states as readonly string[]).includes(text)

/** The request of the list. Values that the API does not know are left out. */
export function requestOf(state: AddressState): ListAdvisoriesRequest {
  const lists = Object.entries(textFields).flatMap(([name, field]) => {
    const values = valuesOf(state[name] ?? '')
    return values.length === 0 ? [] : [[field, values] as const]
  })
  const { group = '', origin = '', query = '', order = '' } = state
  const { state: latest = '', event = '', 'review-state': review = '' } = state
  return {
    ...Object.fromEntries(lists),
    ...(group !== '' && { uidp: { descendantsOf: group } }),
    ...(origin !== '' && { origin }),
    ...(query !== '' && { query }),
    ...(isState(latest) && { latestEventType: eventTypeFilter(latest) }),
    ...(isState(event) && { eventTypes: [eventTypeFilter(event)] }),
    ...(Object.hasOwn(reviewStates, review) && {
      eventReviewStates: [`REVIEW_STATE_${review.toUpperCase().replace('-', '_')}` as ReviewState],
    }),
    orderBy: order || DEFAULT_ORDER,
  }
}

/** The filters that are set, with what they say. */
export function chipsOf(state: AddressState, groupPath: string): (readonly [string, string])[] {
  const texts = [...firstFilters, ...moreFilters].map(
    ({ name, label }) => [name, `${label}: ${state[name]}`] as const,
  )
  const chosen = selectFilters.map(({ name, label, choices }) => {
    const value = state[name] ?? ''
    return [name, `${label}: ${choices.find(({ id }) => id === value)?.name ?? value}`] as const
  })
  return [['group', `Folder: ${groupPath}`] as const, ...texts, ...chosen].filter(([name]) => state[name])
}

const sortNames: Readonly<Record<string, string>> = {
  advisory_id: 'id',
  artifact_name: 'package',
  component_name: 'component',
  created_at: 'created',
  updated_at: 'updated',
}

/** The command that lists the same. */
export function commandOf(state: AddressState): string {
  const names = [...firstFilters, ...moreFilters, ...selectFilters].map(({ name }) => name)
  const flags = names.flatMap((name) => (state[name] ? [`--${name}`, quoted(state[name])] : []))
  const sort = sortOf(state['order'] || DEFAULT_ORDER, sortNames)
  const parent = state['group'] ? ['--parent', state['group'], '--recursive'] : []
  return ['berth advisories list', ...parent, ...flags, '--sort', quoted(sort)].join(' ')
}
