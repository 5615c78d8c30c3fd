import { randomInt } from 'node:crypto'
import { takeRandomBytes } from '../runtime/random-bytes.ts'

/**
 * Identifiers. A uid is a path: 40 hex digits for a root, then a segment of 16 hex digits for each level
 * (the spec, "Identifiers"). The descendants of a uid are one range of text, because `/` is the byte before
 * `0` and no hex digit is between them.
 */

declare const brand: unique symbol
/** A well-formed uid. A resource with it need not exist. */
export type Uid = string & { readonly [brand]: 'Uid' }

export const ROOT_CHARS = 40
const uidPattern = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/

/** Returns undefined for text that is not a well-formed uid. */
export function parseUid(text: string): Uid | undefined {
  return uidPattern.test(text) ? (text as Uid) : undefined
}

/** Returns the organization, user identity or managed role at the root of a uid. */
export function rootOf(uid: string): Uid {
  return uid.slice(0, ROOT_CHARS) as Uid
}

/** Returns the part of a uid after its root, '' for a root. */
export function pathBelowRoot(uid: string): string {
  return uid.slice(ROOT_CHARS)
}

/** Returns the uid without its last segment; '' for a root. */
export function parentOf(uid: string): Uid | '' {
  const cut = uid.lastIndexOf('/')
  return cut < 0 ? '' : (uid.slice(0, cut) as Uid)
}

/** Returns the segment after the last slash; a root itself. */
export function lastSegment(uid: string): string {
  return uid.slice(uid.lastIndexOf('/') + 1)
}

/** Returns the uids from the root to the uid itself. */
export function pathOf(uid: string): Uid[] {
  const path: Uid[] = []
  for (let cut = uid.indexOf('/'); cut >= 0; cut = uid.indexOf('/', cut + 1))
    path.push(uid.slice(0, cut) as Uid)
  path.push(uid as Uid)
  return path
}

/** Returns the number of segments after the root: 0 for a root. */
export function depthOf(uid: string): number {
  return uid.length <= ROOT_CHARS ? 0 : (uid.length - ROOT_CHARS) / 17
}

export function isRoot(uid: string): boolean {
  return uid.length === ROOT_CHARS
}

/** Returns whether `uid` is `scope` or a descendant of it. The scope '' is the platform and contains everything. */
export function isWithin(uid: string, scope: string): boolean {
  return (
    scope === '' ||
    uid === scope ||
    (uid.length > scope.length && uid[scope.length] === '/' && uid.startsWith(scope))
  )
}

/** A half-open range of uids in byte order. */
export interface UidRange {
  readonly from: string
  readonly to: string
}

/** Returns the range of all descendants of a uid, without itself. */
export function descendantRange(uid: string): UidRange {
  return { from: `${uid}/`, to: `${uid}0` }
}

/** Returns the range of a uid and all its descendants; '' is the range of all uids. */
export function subtreeRange(uid: string): UidRange {
  return uid === '' ? { from: '', to: 'g' } : { from: uid, to: `${uid}0` }
}

/** Returns the uids in both ranges. */
export function intersectRanges(a: UidRange, b: UidRange): UidRange | undefined {
  const from = a.from > b.from ? a.from : b.from
  const to = a.to < b.to ? a.to : b.to
  return from < to ? { from, to } : undefined
}

/** Creates uids; a dependency so that tests can replace it. */
export interface UidGenerator {
  root(): Uid
  child(parent: Uid): Uid
  /** For rows that are created by the thousands: in order of time, so that an index grows at its end. */
  timeOrderedChild(parent: Uid, nowMs: number): Uid
}

const TIME_DIGITS = 11
const SEQUENCE_DIGITS = 5

/** Starts at a random value: uids of one millisecond differ in one process, and rarely collide with those of another. */
let lastSequence = randomInt(16 ** SEQUENCE_DIGITS)

export const randomUids: UidGenerator = {
  root: () => takeRandomBytes(20).toString('hex') as Uid,
  child: (parent) => `${parent}/${takeRandomBytes(8).toString('hex')}` as Uid,
  timeOrderedChild(parent, nowMs) {
    lastSequence = (lastSequence + 1) % 16 ** SEQUENCE_DIGITS
    const time = nowMs.toString(16).padStart(TIME_DIGITS, '0').slice(-TIME_DIGITS)
    return `${parent}/${time}${lastSequence.toString(16).padStart(SEQUENCE_DIGITS, '0')}` as Uid
  },
}
