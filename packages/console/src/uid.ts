/** Identifiers: 40 hex digits for an organization, user or managed role, then a segment of 16 for each level below. */

const UID = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*/

/** Returns the uid at the start of a path, '' if there is none: a manifest has its digest after the uid of its repository. */
export const uidIn = (path: string): string => UID.exec(path)?.[0] ?? ''

export const isUid = (text: string): boolean => text !== '' && uidIn(text) === text

/** Returns the uids above one, the organization first. */
export function ancestorsOf(uid: string): string[] {
  const segments = uid.split('/')
  return segments.slice(1).map((_, at) => segments.slice(0, at + 1).join('/'))
}
