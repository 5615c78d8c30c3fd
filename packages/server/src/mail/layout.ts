import type { Message } from './smtp.ts'

/** The layout of every email: the same sentences as plain text and as simple HTML, without images or remote content. */

export interface MailContent {
  readonly to: string
  readonly subject: string
  readonly paragraphs: readonly string[]
  /** A link with its label. In the text, the address stands alone on its line. */
  readonly link?: { readonly label: string; readonly url: string }
  /** Paragraphs after the link. */
  readonly notes: readonly string[]
}

export function renderMail({ to, subject, paragraphs, link, notes }: MailContent): Message {
  const text = [...paragraphs, ...(link === undefined ? [] : [`${link.label}:\n${link.url}`]), ...notes]
  const button =
    link === undefined
      ? []
      : [
          `<p><a href="${escapeHtml(link.url)}" style="display:inline-block;padding:10px 16px;border-radius:6px;background:#1a56c4;color:#ffffff;text-decoration:none">${escapeHtml(link.label)}</a></p>`,
          `<p style="font-size:13px;color:#555555">Or open this address: <br><span style="word-break:break-all">${escapeHtml(link.url)}</span></p>`,
        ]
  return {
    to,
    subject: toOneLine(subject),
    text: `${text.join('\n\n')}\n`,
    html: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(toOneLine(subject))}</title></head>
<body style="font-family:system-ui,sans-serif;font-size:16px;line-height:1.5;color:#1b1b1b;max-width:560px">
${[...paragraphs.map(paragraph), ...button, ...notes.map(paragraph)].join('\n')}
</body>
</html>
`,
  }
}

function paragraph(text: string): string {
  return `<p>${escapeHtml(text)}</p>`
}

function toOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\s]+/gu, ' ')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** Formats a time for an email: `2026-01-31 08:15 UTC`. */
export function formatMailTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
