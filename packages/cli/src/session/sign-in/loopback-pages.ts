import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { baseCss } from '@berth/look/base.ts'
import { iconSvg } from '@berth/look/icon.ts'
import { tokensCss } from '@berth/look/tokens.ts'

/** The pages that the browser shows at the end of a sign-in. They contain fixed text only, nothing of the request. */

export const notFoundPage = [
  'Page not found',
  'This URL belongs to a sign-in of the berth command line.',
] as const
export const signedInPage = [
  'You are signed in',
  'You can close this window and return to your terminal.',
] as const
export const failedPage = [
  'Sign-in failed',
  'See your terminal for the reason. You can close this window.',
] as const

const style = `${tokensCss}${baseCss}`
const styleHash = createHash('sha256').update(style).digest('base64')

export function sendPage(
  response: ServerResponse,
  status: number,
  [title, sentence]: readonly [string, string],
): void {
  response
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; frame-ancestors 'none'; base-uri 'none'`,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      connection: 'close',
    })
    .end(
      `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Berth</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(iconSvg.trim())}">
<style>${style}</style>
</head>
<body>
<header>
<span class="wordmark">${iconSvg.trim().replace('<svg ', '<svg aria-hidden="true" ')}Berth</span>
</header>
<main>
<h1>${title}</h1>
<p>${sentence}</p>
</main>
</body>
</html>
`,
    )
}
