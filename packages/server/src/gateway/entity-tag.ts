import type { DescMessage, Message } from '@bufbuild/protobuf'
import { etagOf } from '../api/etag.ts'
import { encodeOnce } from '../runtime/caches/stored-encodings.ts'

/** Returns the entity tag of a message, which is computed once if the message is sent more than once. */
export function entityTag(schema: DescMessage, message: Message): string {
  return encodeOnce(message, etagOf, () => etagOf(schema, message))
}
