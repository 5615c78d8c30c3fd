import { randomBytes, randomInt } from 'node:crypto'

/**
 * Identifiers. A uid is a path: 40 hex digits for a root, then one segment of 16 hex digits for every level below
 * (the spec, "Identifiers"). The path is the tree: what lies below a uid is one range of text, because `/` is the byte before
 * `0` and no hex digit comes between.
 */

declare const brand: unique symbol
/** A well-formed uid. Says nothing about whether something has it. */
export type Uid = string & { readonly [brand]: 'Uid' }

export const ROOT_CHARS = 40
const uidPattern = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/

export function parseUid(text: string): Uid | undefined {
  return uidPattern.test(text) ? (text as Uid) : undefined
}

/** The organization, or the user identity or managed role, that a uid starts with. */
export function rootOf(uid: string): Uid {
  return uid.slice(0, ROOT_CHARS) as Uid
}

/** The part of a uid after its root, '' for a root. */
export function pathBelowRoot(uid: string): string {
  return uid.slice(ROOT_CHARS)
}

/** The uid without its last segment; '' for a root. */
export function parentOf(uid: string): Uid | '' {
  const cut = uid.lastIndexOf('/')
  return cut < 0 ? '' : (uid.slice(0, cut) as Uid)
}

/** From the root down to the uid itself. */
export function pathOf(uid: string): Uid[] {
  const path: Uid[] = []
  for (let cut = uid.indexOf('/'); cut >= 0; cut = uid.indexOf('/', cut + 1))
    path.push(uid.slice(0, cut) as Uid)
  path.push(uid as Uid)
  return path
}

/** Segments below the root: 0 for a root. */
export function depthOf(uid: string): number {
  return uid.length <= ROOT_CHARS ? 0 : (uid.length - ROOT_CHARS) / 17
}

/** Whether `uid` is `scope` or lies below it. The scope '' is the platform and holds everything. */
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

/** Everything below a uid, at any depth, without itself. */
export function descendantRange(uid: string): UidRange {
  return { from: `${uid}/`, to: `${uid}0` }
}

/** A uid and everything below it; '' means every uid there is. */
export function subtreeRange(uid: string): UidRange {
  return uid === '' ? { from: '', to: 'g' } : { from: uid, to: `${uid}0` }
}

/** The uids that lie in both. */
export function intersectRanges(a: UidRange, b: UidRange): UidRange | undefined {
  const from = a.from > b.from ? a.from : b.from
  const to = a.to < b.to ? a.to : b.to
  return from < to ? { from, to } : undefined
}

/** Makes new uids; a dependency so that tests can have their own. */
export interface UidGenerator {
  root(): Uid
  child(parent: Uid): Uid
  /** For what comes thousands at a time: in the order of time, so that an index grows at its end. */
  timeOrderedChild(parent: Uid, nowMs: number): Uid
}

const TIME_DIGITS = 11
const SEQUENCE_DIGITS = 5

/** Goes on from anywhere, so that uids of one millisecond differ in one process and hardly ever meet those of another. */
let lastSequence = randomInt(16 ** SEQUENCE_DIGITS)

export const randomUids: UidGenerator = {
  root: () => randomBytes(20).toString('hex') as Uid,
  child: (parent) => `${parent}/${randomBytes(8).toString('hex')}` as Uid,
  timeOrderedChild(parent, nowMs) {
    lastSequence = (lastSequence + 1) % 16 ** SEQUENCE_DIGITS
    const time = nowMs.toString(16).padStart(TIME_DIGITS, '0').slice(-TIME_DIGITS)
    return `${parent}/${time}${lastSequence.toString(16).padStart(SEQUENCE_DIGITS, '0')}` as Uid
  },
}
