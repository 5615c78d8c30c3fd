import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type DescService,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import { type UIDPFilter, UIDPFilterSchema } from '#gen/platform/common/v1/uidp.platform_pb.js'
import type { Access } from '../core/allowed.ts'
import type { Ask, ServiceTranslation, Translator } from '../core/call.ts'
import { ApiError, failedPrecondition, withFields } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { followed, type Listing } from '../core/parts.ts'
import { parseUid } from '../core/uid.ts'
import { type Wording, wording } from './wording.ts'

/**
 * Version 1 of the API on top of the newer services: a method puts its request into newer words, asks the newer method as the
 * same caller, and puts the answer back into its own. It has no rule, no query and no permission.
 */

/** The translators of one service, by the names of its methods. */
export type Translators<S extends DescService> = {
  readonly [K in keyof S['method']]?: (
    request: MessageShape<S['method'][K]['input']>,
    ask: Ask,
    access: Pick<Access, 'grants'>,
  ) => Promise<MessageShape<S['method'][K]['output']>>
}

/** Joins a service of version 1 with its translators. `spelled`: the fields that newer errors name, in its own words. */
export function translation<S extends DescService>(
  service: S,
  spelled: (field: string) => string,
  translators: Translators<S>,
): ServiceTranslation {
  const inItsWords = ([name, translate]: [string, Translator]): [string, Translator] => [
    name,
    (...given) => inWords(spelled, () => translate(...given)),
  ]
  const entries = Object.entries(translators as unknown as Record<string, Translator>)
  return { service, translators: Object.fromEntries(entries.map(inItsWords)) }
}

/** Work whose errors name fields in the words of version 1. */
export async function inWords<T>(spelled: (field: string) => string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (failure) {
    throw failure instanceof ApiError ? withFields(failure, spelled) : failure
  }
}

/** The words of a resource, and those of requests, which come first. */
export function respelled(
  requests: Readonly<Record<string, string>>,
  { spelled }: Pick<Wording<DescMessage, DescMessage>, 'spelled'>,
): (field: string) => string {
  return (field) => requests[field] ?? spelled(field)
}

/**
 * The translator of a method that is there in both versions, with other names for some fields: `renamed` has the newer names of those,
 * of the request or of the answer.
 */
export function asked<I extends DescMessage, O extends DescMessage>(
  { input, output }: DescMethodUnary<I, O>,
  newer: DescMethodUnary,
  renamed: Readonly<Record<string, string>>,
): (request: MessageShape<I>, ask: Ask) => Promise<MessageShape<O>> {
  const pairs = ({ fields }: DescMessage) =>
    fields.map(({ localName }) => [localName, renamed[localName] ?? localName] as const)
  const request = wording(input, newer.input, pairs(input))
  const answer = wording(output, newer.output, pairs(output))
  return async (given, ask) => answer.toOld(await ask(newer, request.toNew(given)))
}

/** What lists of newer services have in common. */
type PageRequest<I extends DescMessage> = Omit<
  MessageInitShape<I>,
  '$typeName' | '$unknown' | 'pageSize' | 'pageToken' | 'orderBy' | 'skip'
>

/**
 * Everything that a list of a newer service has, in the order of uids: version 1 knows no pages. Each page is a part of the answer,
 * which `answer` makes of it. Throws code 9, mostly before there is any part, where one answer should not hold that much.
 */
export function wholeList<I extends DescMessage, O extends DescMessage, L extends Listing>(
  ask: Ask,
  method: DescMethodUnary<I, O>,
  request: PageRequest<I>,
  answer: (page: MessageShape<O>) => L | Promise<L>,
): Promise<L> {
  const partAt = async (pageToken: string, before: number): Promise<L> => {
    const paging = { pageSize: limits.pageSizeMax, orderBy: 'uid', pageToken }
    const page = await ask(method, { ...request, ...paging } as unknown as MessageInitShape<I>)
    const { nextPageToken, totalCount = 0n } = page as unknown as {
      nextPageToken: string
      totalCount?: bigint
    }
    if (totalCount > limits.wholeListMax) throw tooLong(method)
    const part = await answer(page)
    const found = before + part.items.length
    // It may grow while it is read.
    if (found > limits.wholeListMax) throw tooLong(method)
    return nextPageToken === '' ? part : followed(part, () => partAt(nextPageToken, found))
  }
  return partAt('', 0)
}

function tooLong({ parent, name }: DescMethodUnary): ApiError {
  const description = `more than ${limits.wholeListMax} match, which one answer does not hold; narrow the filter, or page through ${parent.typeName}/${name}`
  return failedPrecondition('LIST_TOO_LONG', description)
}

/** A filter that keeps nothing, whatever there is. */
export const nothing = Symbol('nothing')

/**
 * The filter of version 1 that is beside `uidp`, and in it: the exact `id`, and the `parent` that it lies directly in (`/` for the
 * roots). What is no uid matches nothing, which is no error, in `uidp` neither.
 */
export function narrowed(
  filter: UIDPFilter | undefined,
  { id = '', parent = '' }: { readonly id?: string; readonly parent?: string },
): UIDPFilter | typeof nothing {
  const to: UIDPFilter = { ...create(UIDPFilterSchema), ...filter }
  if (id !== '') {
    if (to.ids.length > 0 && !to.ids.includes(id)) return nothing
    to.ids = [id]
  }
  if (parent !== '') {
    if (to.childrenOf !== '' && to.childrenOf !== parent) return nothing
    to.childrenOf = parent
  }
  const isAny = (uid: string) => uid === '' || parseUid(uid) !== undefined
  if (!isAny(to.ancestorsOf) || !isAny(to.descendantsOf)) return nothing
  if (to.childrenOf !== '/' && !isAny(to.childrenOf)) return nothing
  const ids = to.ids.filter((one) => parseUid(one) !== undefined)
  if (ids.length === 0 && to.ids.length > 0) return nothing
  return { ...to, ids }
}
