import type { ListAdvisoriesRequest, ReviewState } from '@berth/client/berth.ts'
import type { OptionDeclaration } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { eventTypeFilter, states } from './states.ts'

/** What a list of advisories is narrowed to: a flag for each filter of the API. */

const reviewStates = ['pending', 'approved', 'request-changes', 'rejected'] as const

/** Filters whose values are texts: the field of the request, with the option and what it means. */
const textFilters = [
  ['advisoryIds', 'id', '--id <ids>', 'these ids'],
  ['legacyAdvisoryIds', 'legacyId', '--legacy-id <ids>', 'these ids of their sources'],
  ['artifactNames', 'package', '--package <names>', 'of these packages or images'],
  ['artifactTypes', 'packageType', '--package-type <types>', 'of packages of these types, such as apk'],
  ['artifactArchitectures', 'arch', '--arch <names>', 'of these architectures'],
  ['componentNames', 'component', '--component <names>', 'in these components of a package'],
  [
    'componentTypes',
    'componentType',
    '--component-type <types>',
    'in components of these types, such as go-module',
  ],
  ['componentLocations', 'location', '--location <paths>', 'in components at these paths'],
  ['aliases', 'cve', '--cve <ids>', 'of these vulnerabilities: CVE, GHSA or any other id'],
  ['eventAuthors', 'author', '--author <names>', 'with an event by one of these'],
  ['excludeEventAuthors', 'notAuthor', '--not-author <names>', 'without an event by any of these'],
  ['eventReviewers', 'reviewer', '--reviewer <names>', 'with an event that one of these reviewed'],
] as const satisfies readonly (readonly [keyof ListAdvisoriesRequest, string, string, string])[]

export const stateOption: OptionDeclaration = {
  flags: '--state <state>',
  summary: 'whose newest event says so',
  choices: states,
}

export const filterOptions: readonly OptionDeclaration[] = [
  ...textFilters.map(([, , flags, summary]) => ({ flags, summary, repeatable: true })),
  { flags: '--origin <package>', summary: 'of this package and of all that is built from it' },
  stateOption,
  {
    flags: '--event <states>',
    summary: `an event of which says so: ${states.join(', ')}`,
    choices: states,
    repeatable: true,
  },
  {
    flags: '--review-state <states>',
    summary: `with an event in such a state: ${reviewStates.join(', ')}`,
    choices: reviewStates,
    repeatable: true,
  },
  { flags: '-q, --query <text>', summary: 'with this in the name of package or component, or in an alias' },
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
