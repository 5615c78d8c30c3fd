import { create, equals } from '@bufbuild/protobuf'
import type { ExpressionBuilder } from 'kysely'
import type { Token } from 'markdown-it'
import type { IOptions } from 'sanitize-html'
import {
  type RepoReadme,
  RepoReadmeSchema,
  type ReposService,
} from '#gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { allowed } from '../core/allowed.ts'
import type { Handlers } from '../core/call.ts'
import { type FieldViolation, notFound } from '../core/errors.ts'
import { requireMatch } from '../core/etag.ts'
import { refuseIfAny } from '../core/fields.ts'
import { limits } from '../core/limits.ts'
import { updated } from '../core/message.ts'
import { rootOf } from '../core/uid.ts'
import type { Reader, Tx } from '../storage/db.ts'
import { type Changed, mutate } from '../storage/mutation.ts'
import { lockResource, readResource } from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'
import type { RepoRow, Tables } from '../storage/tables.ts'
import { REPO_TYPE } from './parent-repo.ts'

/**
 * The page that introduces a repo: Markdown, which whoever shows it turns into HTML. It has the repo's uid and goes with it. A repo
 * that copies another one, and has no page of its own, shows that one's.
 */

export function readmeHandlers(
  store: Store,
): Required<Pick<Handlers<typeof ReposService>, 'getRepoReadme' | 'updateRepoReadme'>> {
  const { db } = store

  return {
    async getRepoReadme(_request, call) {
      const { scope } = allowed(call)
      const row = await readResource(db, 'repos', scope)
      if (row === undefined) throw notFound(REPO_TYPE, scope)
      const [readme] = await readmesOf(db.kysely, [row])
      return readme ?? create(RepoReadmeSchema, { uid: scope })
    },

    async updateRepoReadme({ repoReadme: patch = create(RepoReadmeSchema), updateMask }, call) {
      const { scope } = allowed(call)
      const shown = await readResource(db, 'repos', scope)
      if (shown === undefined) throw notFound(REPO_TYPE, scope)
      const unsafe = await checkNewReadme(db.kysely, shown, patch.content)
      return mutate(store, call, async (tx) => {
        const row = await lockResource(db, tx, 'repos', scope, 'update')
        if (row === undefined) throw notFound(REPO_TYPE, scope)
        return changeReadme(tx, row, unsafe, (current) => {
          requireMatch(call, RepoReadmeSchema, current, scope)
          return updated(RepoReadmeSchema, current, patch, updateMask?.paths)
        })
      })
    },
  }
}

/** Makes the page of a repo that is held what `ask` makes of it. `unsafe`: what checkReadme found in that. */
export async function changeReadme(
  tx: Tx,
  row: RepoRow,
  unsafe: FieldViolation | undefined,
  ask: (current: RepoReadme) => RepoReadme,
): Promise<Changed<RepoReadme>> {
  const { root, uid } = row
  const [current] = await readmesOf(tx, [row])
  if (current === undefined) throw new Error(`no page for ${uid}`)
  const next = ask(current)
  if (equals(RepoReadmeSchema, current, next)) return { uid, answer: current, unchanged: true }
  refuseIfAny(
    row.source === ''
      ? unsafe
      : { field: 'content', description: 'a repo that copies another one has the page of its source' },
  )
  await tx.deleteFrom('repo_readmes').where('root', '=', root).where('uid', '=', uid).execute()
  if (next.content !== '')
    await tx.insertInto('repo_readmes').values({ root, uid, content: next.content }).execute()
  return { uid, answer: next }
}

/** Of a repo, what says which page it shows. */
type Showing = Pick<RepoRow, 'root' | 'uid' | 'source'>

/** The pages that repos show, in their order: each its own, or that of its source, or that of the source's source. */
export async function readmesOf(reader: Reader, repos: readonly Showing[]): Promise<RepoReadme[]> {
  const contents = new Map<string, string>()
  let looking = repos.map((repo) => ({ uid: repo.uid, at: repo }))
  // Repos may copy each other in a circle.
  for (let hops = 0; looking.length > 0 && hops <= limits.readmeSourcesMax; hops++) {
    const own = await reader
      .selectFrom('repo_readmes')
      .select(['uid', 'content'])
      .where(isOneOf(looking.map(({ at }) => at.uid)))
      .execute()
    const pages = new Map(own.map(({ uid, content }) => [uid, content]))
    const further: typeof looking = []
    for (const { uid, at } of looking) {
      const content = pages.get(at.uid)
      if (content !== undefined) contents.set(uid, content)
      else if (at.source !== '') further.push({ uid, at })
    }
    looking = []
    if (further.length === 0) break
    const rows = await reader
      .selectFrom('repos')
      .select(['root', 'uid', 'source'])
      .where(isOneOf(further.map(({ at }) => at.source)))
      .execute()
    const sources = new Map(rows.map((row) => [row.uid, row]))
    for (const { uid, at } of further) {
      const source = sources.get(at.source)
      if (source !== undefined) looking.push({ uid, at: source })
    }
  }
  return repos.map(({ uid }) => create(RepoReadmeSchema, { uid, content: contents.get(uid) ?? '' }))
}

function isOneOf(uids: readonly string[]) {
  return (row: ExpressionBuilder<Tables, 'repos' | 'repo_readmes'>) =>
    row.and([row('root', 'in', [...new Set(uids.map(rootOf))]), row('uid', 'in', [...new Set(uids)])])
}

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
const oddMarkup = /<!(?!--(?!-?>)(?:(?!<!--|--!>)[\s\S])*?(?<!<!-)-->)|<\?|<\/(?![a-z])/i

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

/**
 * What is unsafe in the page that a repo is to have. For callers who may write it: it takes long. What the repo shows already is
 * not read again. Not in the transaction, which is for the database alone.
 */
export async function checkNewReadme(
  reader: Reader,
  repo: Showing | undefined,
  content: string,
): Promise<FieldViolation | undefined> {
  const [current] = repo === undefined ? [] : await readmesOf(reader, [repo])
  return content === current?.content ? undefined : checkReadme(content)
}

/** A README is safe when its HTML stays as it is when it is sanitized; comments change nothing. The parsers are loaded at first use. */
export async function checkReadme(content: string): Promise<FieldViolation | undefined> {
  if (content === '') return undefined
  const refused = (description: string) => ({ field: 'content', description })
  if (Buffer.byteLength(content) > limits.readmeBytesMax)
    return refused(`must have at most ${limits.readmeBytesMax} bytes`)
  if (tableCells(content) > limits.readmeTableCellsMax)
    return refused(`must have at most ${limits.readmeTableCellsMax} cells in tables`)
  const [{ default: MarkdownIt }, { default: sanitize }] = await Promise.all([
    import('markdown-it'),
    import('sanitize-html'),
  ])
  const markdown = new MarkdownIt({ html: true, xhtmlOut: true })
  // Bad links are for the sanitizer to find, not to be shown as text.
  markdown.validateLink = () => true
  const tokens = markdown.parse(content, {})
  if (linkChars(tokens) > limits.readmeLinkCharsMax)
    return refused('must not refer so often to links as long as these')
  const html = `${markdown.renderer.render(tokens, markdown.options, {})}\n${END}`
  const sanitized = sanitize(html, safeHtml)
  if (sanitized.endsWith(END) && sanitized === sanitize(html, anyHtml) && !oddMarkup.test(html))
    return undefined
  return refused('must be Markdown without unsafe HTML: no scripts, styles, frames, forms or event handlers')
}
