import {
  AdvisoriesService,
  EventTypeFilterSchema,
  type ListAdvisoriesRequest,
  ReviewStateSchema,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { DescEnum } from '@bufbuild/protobuf'
import { type FieldViolation, notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { timeSortFields } from '../../api/order-by.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import type { Db } from '../../storage/db.ts'
import { listPage } from '../../storage/list/list.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { WithdrawnAdvisoryRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { advisoryIndex } from '../search/advisory-index.ts'
import { countedKeys, facets, indexKey } from '../search/facets.ts'
import type { IndexCondition, ValueCondition } from '../search/inverted-index.ts'
import { addSeverities } from '../storage/severities.ts'
import { toAdvisory } from '../storage/stored-advisory.ts'

/** Reading advisories. They are written by importing documents (advisory-documents.ts). */

export const ADVISORY_TYPE = 'vulnerabilities.chainguard.dev/Advisory'

export function advisoriesService(store: Store) {
  const { db } = store

  return implement(AdvisoriesService, {
    async listAdvisories(request, call) {
      requireValid(...violationsIn(request))
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'advisories',
        sortFields: {
          uid: 'uid',
          advisory_id: 'advisory_id',
          advisoryId: 'advisory_id',
          artifact_name: 'artifact_name',
          artifactName: 'artifact_name',
          component_name: 'component_name',
          componentName: 'component_name',
          ...timeSortFields,
        },
        defaultOrder: 'uid',
        conditions: conditionsOf(request),
        index: advisoryIndex,
      })
      const advisories = rows.map(toAdvisory)
      await addSeverities(db, advisories)
      return {
        $typeName: 'chainguard.platform.vulnerabilities.v2beta1.ListAdvisoriesResponse' as const,
        advisories,
        ...page,
      }
    },

    async getAdvisory(_request, call) {
      const { scope } = requireScope(call)
      const row = (await readResource(db, 'advisories', scope)) ?? (await readWithdrawn(db, scope))
      if (row === undefined) throw notFound(ADVISORY_TYPE, scope)
      const advisory = toAdvisory(row)
      await addSeverities(db, [advisory])
      return advisory
    },
  })
}

/** Reads a withdrawn advisory. */
export function readWithdrawn({ kysely }: Db, uid: string): Promise<WithdrawnAdvisoryRow | undefined> {
  return kysely
    .selectFrom('withdrawn_advisories')
    .selectAll()
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .executeTakeFirst()
}

/** Text filters: the field of the request and the property that it filters. */
const textFilters = {
  advisoryIds: facets.advisoryId,
  legacyAdvisoryIds: facets.legacyAdvisoryId,
  artifactNames: facets.artifactName,
  artifactTypes: facets.artifactType,
  artifactArchitectures: facets.artifactArchitecture,
  componentNames: facets.componentName,
  componentTypes: facets.componentType,
  componentLocations: facets.componentLocation,
  aliases: facets.alias,
  eventAuthors: facets.eventAuthor,
  eventReviewers: facets.eventReviewer,
} as const

type TextFilter = keyof typeof textFilters
const textFields = Object.keys(textFilters) as TextFilter[]

function conditionsOf(request: ListAdvisoriesRequest): IndexCondition[] {
  const conditions: IndexCondition[] = []
  const add = (facet: number, values: readonly string[]) => {
    if (values.length > 0) conditions.push(indexCondition(facet, values))
  }
  const { origin = '', eventReviewStates, eventTypes, excludeEventAuthors, latestEventType, query } = request
  // The packages of an origin are more than those with its name.
  for (const field of textFields)
    if (origin === '' || field !== 'artifactNames') add(textFilters[field], request[field])
  if (origin !== '') add(facets.origin, [origin])
  add(facets.reviewState, eventReviewStates.map(String))
  add(facets.eventType, eventTypes.map(String))
  if (latestEventType !== undefined) add(facets.latestEventType, [String(latestEventType)])
  if (excludeEventAuthors.length > 0)
    conditions.push({ ...indexCondition(facets.eventAuthor, excludeEventAuthors), none: true })
  if (query !== '') conditions.push({ part: query.toLowerCase() })
  return conditions
}

function indexCondition(facet: number, values: readonly string[]): ValueCondition {
  const distinct = [...new Set(values)].sort()
  const counted = countedKeys(facet, distinct)?.map((key) => key.toString('hex'))
  return {
    keys: distinct.map((value) => indexKey(facet, value).toString('hex')),
    ...(counted !== undefined && { counted }),
  }
}

function violationsIn(request: ListAdvisoriesRequest): (FieldViolation | undefined)[] {
  const { advisoryFilterValuesMax: valuesMax, advisoryFilterCharsMax: charsMax } = limits
  const { eventReviewStates, eventTypes, excludeEventAuthors, latestEventType, query } = request
  const texts = [
    ...textFields.map(
      (field) => [AdvisoriesService.method.listAdvisories.input.field[field].name, request[field]] as const,
    ),
    ['excludeEventAuthors', excludeEventAuthors] as const,
  ]
  return [
    ...texts.flatMap(([field, values]) => [
      tooMany(field, values, valuesMax),
      ...values.map((value, at) =>
        value.length <= charsMax
          ? undefined
          : { field: `${field}[${at}]`, description: `must have at most ${charsMax} characters` },
      ),
    ]),
    tooMany('event_review_states', eventReviewStates, valuesMax),
    tooMany('event_types', eventTypes, valuesMax),
    ...eventReviewStates.map((value, at) =>
      isEnumValue(ReviewStateSchema, value)
        ? undefined
        : enumViolation(`event_review_states[${at}]`, 'review state'),
    ),
    ...eventTypes.map((value, at) =>
      isEnumValue(EventTypeFilterSchema, value)
        ? undefined
        : enumViolation(`event_types[${at}]`, 'type of event'),
    ),
    latestEventType === undefined || isEnumValue(EventTypeFilterSchema, latestEventType)
      ? undefined
      : enumViolation('latest_event_type', 'type of event'),
    Array.from(query.toLowerCase()).length <= limits.advisorySuffixCharsMax
      ? undefined
      : { field: 'query', description: `must have at most ${limits.advisorySuffixCharsMax} characters` },
  ]
}

function isEnumValue(schema: DescEnum, value: number): boolean {
  return value !== 0 && schema.value[value] !== undefined
}

function enumViolation(field: string, what: string): FieldViolation {
  return { field, description: `must be a ${what} other than unspecified` }
}

function tooMany(field: string, values: readonly unknown[], max: number): FieldViolation | undefined {
  return values.length <= max ? undefined : { field, description: `must have at most ${max} values` }
}
