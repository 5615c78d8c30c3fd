/** Measures, cuts and wraps text for a terminal, and removes control characters. */

const PLAIN = /^[ -~]*$/
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u
const NONE = /[\p{Mn}\p{Me}\p{Cf}]/u

/** Returns the terminal columns of a text: ideographs and most emoji take two, combining marks none. */
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

/** Cuts a text at its end. */
export function truncate(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${takeWidth(text, width - 1)}…`
}

/** Cuts a text at its start: the last names of a path tell it apart. */
export function truncateStart(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  const signs = [...text]
  let sum = 1
  let from = signs.length
  while (from > 0 && sum + characterWidth(signs[from - 1] ?? '') <= width)
    sum += characterWidth(signs[--from] ?? '')
  return `…${signs.slice(from).join('')}`
}

/** Cuts a text in its middle: uids of one organization have the same start. */
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

/** Wraps a text between words, and inside words longer than a line. */
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

/** Replaces terminal control and bidirectional characters with spaces. */
export function sanitizeText(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}

/** As sanitizeText, but keeps line breaks. */
export function sanitizeLines(text: string): string {
  return text.split('\n').map(sanitizeText).join('\n')
}
