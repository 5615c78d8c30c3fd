/**
 * Paragraphs of fields in the syntax of RFC 822 headers, as dpkg, opkg, Python and Java use it. Reads only the fields that are asked for:
 * databases also list the files of packages.
 */

/** Yields one map for each paragraph that has any of the fields. Names of fields are in lower case. */
export function* readParagraphs(text: string, fields: ReadonlySet<string>): Generator<Map<string, string>> {
  let paragraph = new Map<string, string>()
  let current: string | undefined
  for (const line of linesOf(text)) {
    if (line.trim() === '') {
      if (paragraph.size > 0) yield paragraph
      paragraph = new Map()
      current = undefined
    } else if (line.startsWith(' ') || line.startsWith('\t')) {
      if (current !== undefined) paragraph.set(current, `${paragraph.get(current)}\n${line.trim()}`)
    } else {
      const colon = line.indexOf(':')
      const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase()
      current = fields.has(name) ? name : undefined
      // The first value counts if a field is repeated, and its continuation lines are those of the first.
      if (current !== undefined && paragraph.has(current)) current = undefined
      if (current !== undefined) paragraph.set(current, line.slice(colon + 1).trim())
    }
  }
  if (paragraph.size > 0) yield paragraph
}

/** Lines without their ends, one at a time: a database may have a million. */
export function* linesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    yield text.slice(start, text[end - 1] === '\r' ? end - 1 : end)
    start = end + 1
  }
}
