import { type UIDPFilter, UIDPFilterSchema } from '@berth/contract/gen/platform/common/v1/uidp.platform_pb.js'
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type DescService,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import { ApiError, failedPrecondition, withFieldNames } from '../../api/errors.ts'
import { parseUid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Authorization } from '../../pipeline/authorization.ts'
import type { InvokeMethod, ServiceTranslation, Translator } from '../../pipeline/call.ts'
import { type ItemsResponse, withNextPart } from '../../pipeline/response-parts.ts'
import { createMapping, type MessageMapping } from './message-mapping.ts'

/**
 * Version 1 of the API on top of the newer services: a method translates its request, calls the newer method as the same caller, and
 * translates the response back. It has no rules, queries or permissions of its own.
 */

/** The translators of one service, by method name. */
export type Translators<S extends DescService> = {
  readonly [K in keyof S['method']]?: (
    request: MessageShape<S['method'][K]['input']>,
    ask: InvokeMethod,
    access: Pick<Authorization, 'grants'>,
  ) => Promise<MessageShape<S['method'][K]['output']>>
}

/** Combines a service of version 1 with its translators. `toV1Path` maps the fields in newer errors and warnings to their names in version 1. */
export function translateService<S extends DescService>(
  service: S,
  toV1Path: (field: string) => string,
  translators: Translators<S>,
): ServiceTranslation {
  const withTranslatedErrors = ([name, translate]: [string, Translator]): [string, Translator] => [
    name,
    (...given) => translateErrors(toV1Path, () => translate(...given)),
  ]
  const entries = Object.entries(translators as unknown as Record<string, Translator>)
  return { service, toV1Path, translators: Object.fromEntries(entries.map(withTranslatedErrors)) }
}

/** Runs work and maps the fields in its errors to the names of version 1. */
export async function translateErrors<T>(
  toV1Path: (field: string) => string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (failure) {
    throw failure instanceof ApiError ? withFieldNames(failure, toV1Path) : failure
  }
}

/** Maps the fields of a resource, and those of requests, which take precedence. */
export function fieldPathMapper(
  requests: Readonly<Record<string, string>>,
  { toV1Path }: Pick<MessageMapping<DescMessage, DescMessage>, 'toV1Path'>,
): (field: string) => string {
  return (field) => requests[field] ?? toV1Path(field)
}

/**
 * Returns the translator of a method that exists in both versions, with other names for some fields: `renamed` has the newer names of
 * fields in the request or the response.
 */
export function mapMethod<I extends DescMessage, O extends DescMessage>(
  { input, output }: DescMethodUnary<I, O>,
  newer: DescMethodUnary,
  renamed: Readonly<Record<string, string>>,
): (requestMapping: MessageShape<I>, ask: InvokeMethod) => Promise<MessageShape<O>> {
  const pairs = ({ fields }: DescMessage) =>
    fields.map(({ localName }) => [localName, renamed[localName] ?? localName] as const)
  const requestMapping = createMapping(input, newer.input, pairs(input))
  const responseMapping = createMapping(output, newer.output, pairs(output))
  return async (v1Request, ask) => responseMapping.toV1(await ask(newer, requestMapping.toV2(v1Request)))
}

/** The fields that lists of newer services share. */
type PageRequest<I extends DescMessage> = Omit<
  MessageInitShape<I>,
  '$typeName' | '$unknown' | 'pageSize' | 'pageToken' | 'orderBy' | 'skip'
>

/**
 * Reads a complete list of a newer service, in the order of uids: version 1 has no pages. Each page is a part of the response, which
 * `answer` converts. Throws code 9, usually before the first part, if the list is too long for one response.
 */
export function listAllPages<I extends DescMessage, O extends DescMessage, L extends ItemsResponse>(
  ask: InvokeMethod,
  method: DescMethodUnary<I, O>,
  request: PageRequest<I>,
  toListing: (page: MessageShape<O>) => L | Promise<L>,
): Promise<L> {
  const partAt = async (pageToken: string, before: number): Promise<L> => {
    const paging = { pageSize: limits.pageSizeMax, orderBy: 'uid', pageToken }
    const page = await ask(method, { ...request, ...paging } as unknown as MessageInitShape<I>)
    const { nextPageToken, totalCount = 0n } = page as unknown as {
      nextPageToken: string
      totalCount?: bigint
    }
    if (totalCount > limits.v1ListMax) throw listTooLongError(method)
    const part = await toListing(page)
    const found = before + part.items.length
    // The list may grow while it is read.
    if (found > limits.v1ListMax) throw listTooLongError(method)
    return nextPageToken === '' ? part : withNextPart(part, () => partAt(nextPageToken, found))
  }
  return partAt('', 0)
}

function listTooLongError({ parent, name }: DescMethodUnary): ApiError {
  const description = `more than ${limits.v1ListMax} match, too many for one response; narrow the filter, or page through ${parent.typeName}/${name}`
  return failedPrecondition('LIST_TOO_LONG', description)
}

/** A filter that matches nothing. */
export const noMatch = Symbol('nothing')

/**
 * Returns the filter of version 1 besides `uidp`, and in it: the exact `id`, and the direct `parent` (`/` for the roots). An invalid uid
 * matches nothing and is not an error, also in `uidp`.
 */
export function narrowFilter(
  filter: UIDPFilter | undefined,
  { id = '', parent = '' }: { readonly id?: string; readonly parent?: string },
): UIDPFilter | typeof noMatch {
  const narrowedFilter: UIDPFilter = { ...create(UIDPFilterSchema), ...filter }
  if (id !== '') {
    if (narrowedFilter.ids.length > 0 && !narrowedFilter.ids.includes(id)) return noMatch
    narrowedFilter.ids = [id]
  }
  if (parent !== '') {
    if (narrowedFilter.childrenOf !== '' && narrowedFilter.childrenOf !== parent) return noMatch
    narrowedFilter.childrenOf = parent
  }
  const isAny = (uid: string) => uid === '' || parseUid(uid) !== undefined
  if (!isAny(narrowedFilter.ancestorsOf) || !isAny(narrowedFilter.descendantsOf)) return noMatch
  if (narrowedFilter.childrenOf !== '/' && !isAny(narrowedFilter.childrenOf)) return noMatch
  const ids = narrowedFilter.ids.filter((one) => parseUid(one) !== undefined)
  if (ids.length === 0 && narrowedFilter.ids.length > 0) return noMatch
  return { ...narrowedFilter, ids }
}
