import { createHash } from 'node:crypto'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { type DescMessage, type Message, toBinary } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { limits } from '../config/limits.ts'
import { ApiError, Code, invalidArgument } from './errors.ts'

/**
 * Entity tags (RFC 9110, section 8.8.3): the version of a resource that its reader has seen. They are weak, because values that
 * change without an update, such as when an identity was last seen, create no new version.
 */

/** Fields that are not part of a version, because only some responses include them. */
export const shownOnceFields: Readonly<Record<string, string | undefined>> = {
  'chainguard.platform.iam.v2beta1.GroupInvite': 'code',
}

/** Fields that are computed from other values and change without an update. */
const embeddedFields: Readonly<Record<string, readonly string[] | undefined>> = {
  'chainguard.platform.iam.v2beta1.RoleBinding': ['identity', 'group', 'role'],
  'chainguard.platform.iam.v2beta1.GroupInvite': ['role', 'link', 'mail'],
}

/**
 * Returns `W/"..."`. Every write changes a resource's update time, which therefore is its version; a resource without one is
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
 * Returns whether a list in If-Match or If-None-Match contains this tag, by the weak comparison; undefined if the header is not a
 * list of tags.
 */
export function matchesEtag(header: string, etag: string): boolean | undefined {
  if (header.length > limits.etagHeaderCharsMax) return undefined
  if (header.trim() === '*') return true
  const tags = header.split(',').map((tag) => tagPattern.exec(tag.trim())?.[1])
  if (tags.includes(undefined)) return undefined
  return tags.includes(tagPattern.exec(etag)?.[1])
}

/**
 * Throws code 9 (over REST status 412) if the caller requires another version than this one (If-Match). A resource that does not
 * exist (`current` undefined) has no version.
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
  const description = `${uid} was changed in the meantime; read it again and retry with its new etag`
  throw new ApiError(Code.FAILED_PRECONDITION, `Precondition failed: ${description}`, {
    httpStatus: 412,
    details: [
      { kind: 'PreconditionFailure', violations: [{ type: 'ETAG_MISMATCH', subject: uid, description }] },
    ],
  })
}
