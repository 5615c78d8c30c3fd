import type { DescMessage, Message } from '@bufbuild/protobuf'
import { type ItemsResponse, nextPart } from '../../pipeline/response-parts.ts'
import type { BodyStream } from '../../port/http.ts'
import { createJsonWriter, type Dialect } from './writer.ts'

/** Writes an answer in parts; `make` is given how to make each further one, and makes it. */
export type ListWriter = (
  first: Message,
  nextInTime: (next: () => Promise<ItemsResponse>) => Promise<ItemsResponse>,
) => BodyStream

/**
 * The writer of a list that comes in parts: the same JSON as of all in one, a piece for each part, and no part is asked for
 * before the one before it was taken. Undefined for messages that are no such list.
 */
export function createListWriter({ fields }: DescMessage, dialect: Dialect): ListWriter | undefined {
  const [items, ...others] = fields
  if (items?.localName !== 'items' || items.fieldKind !== 'list' || others.length > 0) return undefined
  if (items.listKind !== 'message') return undefined
  const write = createJsonWriter(items.message, dialect)
  return async function* (first, nextInTime) {
    let before = `{"${items.jsonName}":[`
    for (let part = first as ItemsResponse; ; ) {
      const text = part.items.map(write).join(',')
      if (text !== '') {
        yield before + text
        before = ','
      }
      const next = nextPart(part)
      if (next === undefined) break
      part = await nextInTime(next)
    }
    yield before === ',' ? ']}' : `${before}]}`
  }
}
