import { parseUid } from '../api/uid.ts'

/** What a search text can mean. Pure. */

/** The characters that separate the words of names and email addresses. */
const SEPARATORS = '-_.@+'

export interface SearchText {
  /** In lower case. */
  readonly text: string
  /** The text to find in names, in lower case: the part after the last slash, without a tag. */
  readonly name: string
  /** The path that results must have; '' if the text is only a name. */
  readonly path: string
  /** The prefix of a tag, as it was typed; '' for none. */
  readonly tag: string
  /** Whether the text names a repository before a tag or digest. */
  readonly hasRepository: boolean
  /** The prefix of a digest, with its algorithm. */
  readonly digest: string | undefined
}

const DIGEST = /^(sha256|sha512):([0-9a-f]+)$/
const BARE_DIGEST = /^[0-9a-f]{7,64}$/
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/
const DIGEST_DIGITS_MIN = 7

/** `registryHost` can precede a path, as in image references. */
export function parseSearchText(typed: string, registryHost: string): SearchText {
  const trimmed = typed.trim()
  const reference = trimmed.startsWith(`${registryHost}/`) ? trimmed.slice(registryHost.length + 1) : trimmed
  const at = reference.indexOf('@')
  const digest = digestPrefix(at > 0 && reference.includes(':', at) ? reference.slice(at + 1) : reference)
  const isUid = parseUid(trimmed) !== undefined
  const isPinned = digest !== undefined && at > 0
  const place = isPinned ? reference.slice(0, at) : reference
  const colon = digest !== undefined && !isPinned ? -1 : place.lastIndexOf(':')
  const hasTag = colon > 0
  const tag = hasTag ? place.slice(colon + 1) : place
  const path = (hasTag ? place.slice(0, colon) : place).toLowerCase()
  return {
    text: trimmed.toLowerCase(),
    name: path.slice(path.lastIndexOf('/') + 1),
    path: (path.includes('/') && !isUid) || isPinned ? path : '',
    tag: TAG.test(tag) ? tag : '',
    hasRepository: hasTag || isPinned,
    digest,
  }
}

function digestPrefix(text: string): string | undefined {
  const lower = text.toLowerCase()
  const [, algorithm, digits = ''] = DIGEST.exec(lower) ?? []
  if (algorithm !== undefined) return digits.length >= DIGEST_DIGITS_MIN ? lower : undefined
  return BARE_DIGEST.test(lower) ? `sha256:${lower}` : undefined
}

/** Returns SQL for a text whose words are separated by spaces, with a space before the first. */
export function wordsSql(text: string): string {
  let words = text
  for (const separator of SEPARATORS) words = `replace(${words}, '${separator}', ' ')`
  return `(' ' || ${words})`
}

/** Does the same to the searched text. */
export function wordsOf(text: string): string {
  return ` ${text.replaceAll(/[-_.@+]/g, ' ')}`
}

/** Whether a path of names contains the searched path, from the start of a name. */
export function isInPath(path: string, wanted: string): boolean {
  return `/${path.toLowerCase()}`.includes(`/${wanted}`)
}
