import MarkdownIt, { type Token } from 'markdown-it'
import { createElement, type ReactNode } from 'react'

/**
 * Renders Markdown as elements of React. HTML in it is text, so that no markup of an author becomes markup of the page, and an image is a
 * link: the page loads nothing from other servers.
 */

const parser = new MarkdownIt({ html: false, linkify: false })

const elements = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol li blockquote hr pre code strong em s a br table thead tbody tr th td'.split(
    ' ',
  ),
)

export function Readme({ content }: { readonly content: string }) {
  return <div className="readme">{render(parser.parse(content, {}))}</div>
}

interface OpenElement {
  readonly tag: string
  readonly props: Readonly<Record<string, string>>
  readonly children: ReactNode[]
}

function render(tokens: readonly Token[]): ReactNode[] {
  const open: OpenElement[] = [{ tag: '', props: {}, children: [] }]
  for (const [key, token] of tokens.entries()) {
    if (token.nesting === 1)
      open.push({ tag: tagOf(token), props: { ...propsOf(token), key: `${key}` }, children: [] })
    else if (token.nesting === 0) open.at(-1)?.children.push(leaf(token, key))
    else {
      const closed = open.length > 1 ? open.pop() : undefined
      if (closed !== undefined) open.at(-1)?.children.push(element(closed))
    }
  }
  return open[0]?.children ?? []
}

function element({ tag, props, children }: OpenElement): ReactNode {
  return createElement(elements.has(tag) ? tag : 'span', props, ...children)
}

/** The headings of the page come first. */
function tagOf({ tag }: Token): string {
  const level = /^h([1-6])$/.exec(tag)?.[1]
  return level === undefined ? tag : `h${Math.min(Number(level) + 2, 6)}`
}

/** markdown-it keeps no link with the scheme of a script. */
function propsOf(token: Token): Record<string, string> {
  const href = token.tag === 'a' ? token.attrGet('href') : null
  return href === null ? {} : { href: String(href), rel: 'noopener noreferrer nofollow' }
}

function leaf(token: Token, key: number): ReactNode {
  switch (token.type) {
    case 'inline':
      return <span key={key}>{render(token.children ?? [])}</span>
    case 'softbreak':
      return '\n'
    case 'hardbreak':
      return <br key={key} />
    case 'hr':
      return <hr key={key} />
    case 'code_inline':
      return <code key={key}>{token.content}</code>
    case 'fence':
    case 'code_block':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what is too wide
        <pre key={key} tabIndex={0}>
          <code>{token.content}</code>
        </pre>
      )
    case 'image':
      return (
        <a key={key} href={String(token.attrGet('src') ?? '')} rel="noopener noreferrer nofollow">
          {token.content || 'Image'}
        </a>
      )
    default:
      return token.content
  }
}
