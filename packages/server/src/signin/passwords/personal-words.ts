/**
 * Finds personal words in a password: parts of its owner's name, email address and names of organizations, forwards and backwards, with
 * digits for letters, in any order and with any separators. Pure.
 */

export interface PasswordOwner {
  readonly email: string
  readonly name: string
  /** Names of the organizations that the owner belongs to. */
  readonly organizations: readonly string[]
}

/** Shorter words are part of too many other words. */
const WORD_CHARS_MIN = 3

/** The words of an owner, folded as those of a password. */
export function personalWords({ email, name, organizations }: PasswordOwner): readonly string[] {
  const [local = '', domain = ''] = email.split('@')
  const words = new Set<string>()
  for (const text of [email, name, local, domain, ...organizations]) {
    const parts = splitWords(foldText(text))
    for (const part of [...parts, parts.join('')]) words.add(part)
    // Initials and a surname, as in many email addresses.
    const last = parts.at(-1)
    if (parts.length > 1 && last !== undefined)
      words.add([...parts.slice(0, -1).map(([first]) => first), last].join(''))
  }
  return [...words].filter((word) => word.length >= WORD_CHARS_MIN)
}

/**
 * Counts the characters of a password, without separators, besides the words of its owner; undefined if it contains none of them.
 */
export function countWithoutPersonalWords(password: string, owner: PasswordOwner): number | undefined {
  const words = personalWords(owner)
  const all = [...new Set([...words, ...words.map(reversed)])].sort((a, b) => b.length - a.length)
  // A sign may stand for a letter or between letters, and separators may be in the middle of a word.
  const readings = [foldText(password), foldText(password.replace(/[@$!|]/g, ' '))]
  const left = readings.flatMap((text) => {
    const plain = splitWords(text).join('')
    return [text, plain].map((form) => ({ rest: countRemaining(form, all), all: lengthOf(plain) }))
  })
  const found = left.filter(({ rest, all }) => rest < all)
  return found.length === 0 ? undefined : Math.min(...found.map(({ rest }) => rest))
}

function countRemaining(text: string, words: readonly string[]): number {
  // A space replaces each word, so that the text around it does not form another word.
  const left = words.reduce((before, word) => before.replaceAll(word, ' '), text)
  return lengthOf(splitWords(left).join(''))
}

function lengthOf(text: string): number {
  return [...text].length
}

function reversed(word: string): string {
  return [...word].reverse().join('')
}

function splitWords(text: string): string[] {
  return text.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '')
}

const letters: Readonly<Record<string, string>> = {
  ...{ '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b', '9': 'g' },
  ...{ '@': 'a', $: 's', '!': 'i', '|': 'i', l: 'i' },
}

/** Converts to lowercase without accents, and digits and signs to the letters that they often stand for. */
function foldText(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
  return plain.replace(/[0-9@$!|l]/g, (sign) => letters[sign] ?? sign)
}
