import type { Token } from 'markdown-it'
import type { IOptions } from 'sanitize-html'
import type { FieldViolation } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'

/** Whether a README is safe to show. Pure. */

/** What a README may be made of; anything else in its HTML makes it unsafe. */
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
  // How the columns of a Markdown table are aligned.
  allowedStyles: { '*': { 'text-align': [/^(?:left|center|right)$/] } },
  allowedSchemes: ['http', 'https', 'mailto'],
}

/** Parses and writes as above but keeps everything, so that only what is unsafe makes a difference. */
const anyHtml: IOptions = {
  allowedTags: false,
  allowedAttributes: false,
  allowVulnerableTags: true,
  allowedSchemesAppliedToAttributes: [],
  parseStyleAttributes: false,
  // What is dropped nevertheless.
  disallowedTagsMode: 'escape',
}

/**
 * What browsers may read in another way than the sanitizer, which leaves it out: declarations, processing instructions, end tags
 * without a name, and comments but those that the HTML standard calls valid.
 */
const ambiguousMarkup = /<!(?!--(?!-?>)(?:(?!<!--|--!>)[\s\S])*?(?<!<!-)-->)|<\?|<\/(?![a-z])/i

/** Follows the page: a tag or comment that is left open would swallow it. */
const END = '<hr />'

/**
 * Cells that the tables of a page have at most. Each row has as many as the table has columns, whatever it says itself: few bytes
 * would become many. Counted before the page is parsed, which is what takes long.
 */
function tableCells(content: string): number {
  let [cells, columns] = [0, 0]
  for (const line of content.split(/\r\n?|\n/)) {
    const text = line.replace(/^[\s>]+/, '')
    if (text === '') columns = 0
    // The row below the names of the columns, or at least it could be.
    else if (/^[-:|][-:|\s]*$/.test(text)) columns = Math.max(columns, text.split('|').length)
    cells += columns
  }
  return cells
}

/** Characters of all addresses and titles of links, which are defined once and may be referred to often. */
function linkChars(tokens: readonly Token[]): number {
  let chars = 0
  for (const { attrs, children } of tokens) {
    for (const [, value] of attrs ?? []) chars += String(value).length
    chars += linkChars(children ?? [])
  }
  return chars
}

/** A README is safe when its HTML stays as it is when it is sanitized; comments change nothing. The parsers are loaded at first use. */
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
  // Bad links are for the sanitizer to find, not to be shown as text.
  markdown.validateLink = () => true
  const tokens = markdown.parse(content, {})
  if (linkChars(tokens) > limits.readmeLinkCharsMax)
    return violation('must not refer so often to links as long as these')
  const html = `${markdown.renderer.render(tokens, markdown.options, {})}\n${END}`
  const sanitized = sanitize(html, safeHtml)
  if (sanitized.endsWith(END) && sanitized === sanitize(html, anyHtml) && !ambiguousMarkup.test(html))
    return undefined
  return violation(
    'must be Markdown without unsafe HTML: no scripts, styles, frames, forms or event handlers',
  )
}
