import { eventTypeFilter, states } from '@berth/advisory-formats/history/advisory-states.ts'
import type { ListAdvisoriesRequest, ReviewState } from '@berth/client/berth.ts'
import type { OptionDeclaration } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'

/** Filters of advisory lists: a flag for each filter of the API. */

const reviewStates = ['pending', 'approved', 'request-changes', 'rejected'] as const

/** Text filters: field of the request, option name, flags, summary. */
const textFilters = [
  ['advisoryIds', 'id', '--id <ids>', 'advisory ids'],
  ['legacyAdvisoryIds', 'legacyId', '--legacy-id <ids>', 'legacy advisory ids'],
  ['artifactNames', 'package', '--package <names>', 'packages or images'],
  ['artifactTypes', 'packageType', '--package-type <types>', 'package types, such as apk'],
  ['artifactArchitectures', 'arch', '--arch <names>', 'architectures'],
  ['componentNames', 'component', '--component <names>', 'components'],
  ['componentTypes', 'componentType', '--component-type <types>', 'component types, such as go-module'],
  ['componentLocations', 'location', '--location <paths>', 'paths of components'],
  ['aliases', 'cve', '--cve <ids>', 'vulnerability ids: CVE, GHSA or other'],
  ['eventAuthors', 'author', '--author <names>', 'authors of an event'],
  ['excludeEventAuthors', 'notAuthor', '--not-author <names>', 'authors to exclude'],
  ['eventReviewers', 'reviewer', '--reviewer <names>', 'reviewers of an event'],
] as const satisfies readonly (readonly [keyof ListAdvisoriesRequest, string, string, string])[]

export const stateOption: OptionDeclaration = {
  flags: '--state <state>',
  summary: 'state of the newest event',
  choices: states,
}

export const filterOptions: readonly OptionDeclaration[] = [
  ...textFilters.map(([, , flags, summary]) => ({ flags, summary, repeatable: true })),
  { flags: '--origin <package>', summary: 'package, including all packages built from it' },
  stateOption,
  {
    flags: '--event <states>',
    summary: `states of any event: ${states.join(', ')}`,
    choices: states,
    repeatable: true,
  },
  {
    flags: '--review-state <states>',
    summary: `review states of any event: ${reviewStates.join(', ')}`,
    choices: reviewStates,
    repeatable: true,
  },
  { flags: '-q, --query <text>', summary: 'text to search in package names, component names and aliases' },
]

export function readFilters(invocation: Invocation): ListAdvisoriesRequest {
  const lists = textFilters.flatMap(([field, option]) => {
    const values = invocation.optionValues(option)
    return values.length === 0 ? [] : [[field, values] as const]
  })
  const [state, origin, query] = [
    invocation.option('state'),
    invocation.option('origin'),
    invocation.option('query'),
  ]
  const events = invocation.optionValues('event')
  const reviews = invocation.optionValues('reviewState')
  return {
    ...Object.fromEntries(lists),
    ...(origin !== '' && { origin }),
    ...(query !== '' && { query }),
    ...(state !== '' && { latestEventType: eventTypeFilter(state) }),
    ...(events.length > 0 && { eventTypes: events.map(eventTypeFilter) }),
    ...(reviews.length > 0 && {
      eventReviewStates: reviews.map(
        (text) => `REVIEW_STATE_${text.toUpperCase().replaceAll('-', '_')}` as ReviewState,
      ),
    }),
  }
}
