import type { Token } from 'markdown-it'
import type { IOptions } from 'sanitize-html'
import type { FieldViolation } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'

/** Checks whether a README is safe to display. Pure. */

/** Allowed HTML of a README; anything else makes it unsafe. */
const safeHtml: IOptions = {
  allowedTags: [
    ...'h1 h2 h3 h4 h5 h6 p div span blockquote pre hr br ul ol li dl dt dd figure figcaption'.split(' '),
    ...'a img b i u s strong em small sub sup code kbd samp var mark q cite abbr del ins'.split(' '),
    ...'table caption colgroup col thead tbody tfoot tr th td details summary'.split(' '),
  ],
  allowedAttributes: {
    '*': ['id', 'title', 'lang', 'dir', 'align'],
    a: ['href', 'name'],
    img: ['src', 'alt', 'width', 'height'],
    code: ['class'],
    ol: ['start'],
    details: ['open'],
    th: ['style', 'colspan', 'rowspan', 'scope'],
    td: ['style', 'colspan', 'rowspan'],
  },
  allowedClasses: { code: ['language-*'] },
  // Alignment of the columns of a Markdown table.
  allowedStyles: { '*': { 'text-align': [/^(?:left|center|right)$/] } },
  allowedSchemes: ['http', 'https', 'mailto'],
}

/** Parses and writes like safeHtml but keeps everything, so that the results differ only in unsafe parts. */
const anyHtml: IOptions = {
  allowedTags: false,
  allowedAttributes: false,
  allowVulnerableTags: true,
  allowedSchemesAppliedToAttributes: [],
  parseStyleAttributes: false,
  // Content that is dropped even so.
  disallowedTagsMode: 'escape',
}

/**
 * Markup that browsers may parse differently from the sanitizer, which drops it: declarations, processing instructions, end tags
 * without a name, and comments other than those that are valid in the HTML standard.
 */
const ambiguousMarkup = /<!(?!--(?!-?>)(?:(?!<!--|--!>)[\s\S])*?(?<!<!-)-->)|<\?|<\/(?![a-z])/i

/** Appended to the page: an unclosed tag or comment would swallow it. */
const END = '<hr />'

/**
 * Returns the maximum number of table cells of a page. Every row gets as many cells as the table has columns, so few bytes can become
 * many. Counted before parsing, which is the expensive part.
 */
function tableCells(content: string): number {
  let [cells, columns] = [0, 0]
  for (const line of content.split(/\r\n?|\n/)) {
    const text = line.replace(/^[\s>]+/, '')
    if (text === '') columns = 0
    // The delimiter row below the column names, or a line that looks like one.
    else if (/^[-:|][-:|\s]*$/.test(text)) columns = Math.max(columns, text.split('|').length)
    cells += columns
  }
  return cells
}

/** Returns the characters of all link URLs and titles, which are defined once and may be referenced often. */
function linkChars(tokens: readonly Token[]): number {
  let chars = 0
  for (const { attrs, children } of tokens) {
    for (const [, value] of attrs ?? []) chars += String(value).length
    chars += linkChars(children ?? [])
  }
  return chars
}

/** A README is safe if its HTML does not change when it is sanitized; comments are ignored. The parsers are loaded at first use. */
export async function checkReadme(content: string): Promise<FieldViolation | undefined> {
  if (content === '') return undefined
  const violation = (description: string) => ({ field: 'content', description })
  if (Buffer.byteLength(content) > limits.readmeBytesMax)
    return violation(`must have at most ${limits.readmeBytesMax} bytes`)
  if (tableCells(content) > limits.readmeTableCellsMax)
    return violation(`must have at most ${limits.readmeTableCellsMax} cells in tables`)
  const [{ default: MarkdownIt }, { default: sanitize }] = await Promise.all([
    import('markdown-it'),
    import('sanitize-html'),
  ])
  const markdown = new MarkdownIt({ html: true, xhtmlOut: true })
  // The sanitizer must find bad links; they must not become text.
  markdown.validateLink = () => true
  const tokens = markdown.parse(content, {})
  if (linkChars(tokens) > limits.readmeLinkCharsMax)
    return violation(
      `must have at most ${limits.readmeLinkCharsMax} characters in the URLs and titles of all links`,
    )
  const html = `${markdown.renderer.render(tokens, markdown.options, {})}\n${END}`
  const sanitized = sanitize(html, safeHtml)
  if (sanitized.endsWith(END) && sanitized === sanitize(html, anyHtml) && !ambiguousMarkup.test(html))
    return undefined
  return violation(
    'must be Markdown without unsafe HTML: no scripts, styles, frames, forms or event handlers',
  )
}
