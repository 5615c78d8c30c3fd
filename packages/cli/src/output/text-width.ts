/** How much room text takes on a terminal, and how it gives way when there is less. */

const PLAIN = /^[ -~]*$/
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u
const NONE = /[\p{Mn}\p{Me}\p{Cf}]/u

/** Columns of a terminal: ideographs and most emoji take two, marks on a letter none. */
function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let sum = 0
  for (const sign of text) sum += characterWidth(sign)
  return sum
}

function characterWidth(sign: string): number {
  if (NONE.test(sign)) return 0
  return WIDE.test(sign) ? 2 : 1
}

export function maxWidth(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, displayWidth(text)), 0)
}

export function padText(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/** Its beginning, when it is too long. */
export function truncate(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${takeWidth(text, width - 1)}…`
}

/** Its beginning and its end, when it is too long: uids of one organization begin alike. */
export function truncateMiddle(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  const end = Math.min(UID_END, width - 2)
  return `${takeWidth(text, width - 1 - end)}…${text.slice(-end)}`
}

/** The last segment of a uid, with its slash. */
const UID_END = 17

function takeWidth(text: string, width: number): string {
  let taken = ''
  let sum = 0
  for (const sign of text) {
    sum += characterWidth(sign)
    if (sum > width) break
    taken += sign
  }
  return taken
}

/** Lines that fit, broken between words, and inside a word that is longer than a line. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ').flatMap((word) => splitWord(word, width))) {
    if (line !== '' && displayWidth(line) + 1 + displayWidth(word) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

function splitWord(word: string, width: number): string[] {
  const first = takeWidth(word, Math.max(width, 2))
  return first === word ? [word] : [first, ...splitWord(word.slice(first.length), width)]
}

/** What others named must not move the cursor, colour the terminal or turn the line around. */
export function sanitizeText(text: string): string {
  return text.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}

/** The same for a text whose lines are its own. */
export function sanitizeLines(text: string): string {
  return text.split('\n').map(sanitizeText).join('\n')
}
