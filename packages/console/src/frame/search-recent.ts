import { session } from '../api/session.ts'
import { isUid } from '../uid.ts'

/**
 * The resources whose pages the user opened last, in this browser: their uids only. Names are read when they are shown, as far as the user
 * can see them then.
 */

const PLACES_MAX = 8
const KEY = `berth.recent.${session.identity}`

const PAGE = /^\/(?:folders|repos|tags|identities|roles|advisories|advisory-feeds)\/(.+)$/

/** uids, the latest first. */
export function recentPlaces(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(stored) ? stored.filter((uid) => typeof uid === 'string') : []
  } catch {
    return []
  }
}

/** `path`: the address of a page below `/console`. */
export function recordPlace(path: string): void {
  const [, uid = ''] = PAGE.exec(path) ?? []
  if (!isUid(uid)) return
  const places = [uid, ...recentPlaces().filter((other) => other !== uid)].slice(0, PLACES_MAX)
  try {
    localStorage.setItem(KEY, JSON.stringify(places))
  } catch {
    // The storage is full or disabled.
  }
}
