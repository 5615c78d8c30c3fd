import { createHash } from 'node:crypto'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { type DescMessage, type Message, toBinary } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { limits } from '../config/limits.ts'
import { ApiError, Code, invalidArgument } from './errors.ts'

/**
 * Entity tags (RFC 9110, section 8.8.3): the version of a resource that its reader has seen. They are weak, since what changes by
 * itself, such as when an identity was last seen, makes no new version.
 */

/** Fields that no version depends on, because one answer has them and the next has not. */
export const shownOnceFields: Readonly<Record<string, string | undefined>> = {
  'chainguard.platform.iam.v2beta1.GroupInvite': 'code',
}

/** What an answer shows of other resources, which change by themselves. */
const embeddedFields: Readonly<Record<string, readonly string[] | undefined>> = {
  'chainguard.platform.iam.v2beta1.RoleBinding': ['identity', 'group', 'role'],
  'chainguard.platform.iam.v2beta1.GroupInvite': ['role'],
}

/**
 * `W/"..."`. Every write moves a resource's update time, so that alone is its version; a resource that does not show one is
 * hashed.
 */
export function etagOf(schema: DescMessage, message: Message): string {
  const { updateTime } = message as { updateTime?: Timestamp }
  return `W/"${updateTime === undefined ? digestOf(schema, message) : timestampMs(updateTime).toString(36)}"`
}

function digestOf(schema: DescMessage, message: Message): string {
  const own: Message & Record<string, unknown> = { ...message }
  for (const name of [shownOnceFields[schema.typeName] ?? [], embeddedFields[schema.typeName] ?? []].flat())
    delete own[name]
  return createHash('sha256').update(toBinary(schema, own)).digest('base64url').slice(0, 22)
}

const NO_VERSION = ''

const tagPattern = /^(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/

/**
 * Whether one of the tags in an If-Match or If-None-Match header is this one, by the weak comparison. Undefined when the header is
 * no list of tags.
 */
export function matchesEtag(header: string, etag: string): boolean | undefined {
  if (header.length > limits.etagHeaderCharsMax) return undefined
  if (header.trim() === '*') return true
  const tags = header.split(',').map((tag) => tagPattern.exec(tag.trim())?.[1])
  if (tags.includes(undefined)) return undefined
  return tags.includes(tagPattern.exec(etag)?.[1])
}

/**
 * Throws code 9, over REST with status 412, when the caller asks for another version than this one (If-Match). What is not there,
 * `current` undefined, has no version.
 */
export function requireEtagMatch(
  { ifMatch }: { readonly ifMatch: string | undefined },
  schema: DescMessage,
  current: Message | undefined,
  uid: string,
): void {
  if (ifMatch === undefined) return
  const matches = matchesEtag(ifMatch, current === undefined ? NO_VERSION : etagOf(schema, current))
  if (matches === undefined)
    throw invalidArgument('if-match', 'must be *, or entity tags such as W/"abc", separated by commas')
  if (matches && current !== undefined) return
  const description = `${uid} was changed since; read it again and decide anew`
  throw new ApiError(Code.FAILED_PRECONDITION, `Precondition failed: ${description}`, {
    httpStatus: 412,
    details: [
      { kind: 'PreconditionFailure', violations: [{ type: 'ETAG_MISMATCH', subject: uid, description }] },
    ],
  })
}
