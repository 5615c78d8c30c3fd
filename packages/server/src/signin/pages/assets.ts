import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { baseCss } from '@berth/look/base.ts'
import { iconSvg } from '@berth/look/icon.ts'
import { tokensCss } from '@berth/look/tokens.ts'
import { Hono } from 'hono'
import { matchesEtag } from '../../api/etag.ts'
import type { SignInEnv } from '../context.ts'

/** The stylesheet, scripts and icon of the pages. Their addresses contain a revision, so that browsers can cache them. */

const YEAR_SECONDS = 365 * 24 * 3600

const fileText = (at: URL) => readFileSync(at, 'utf8')

/** The browser part of the passkey library, as one script. */
const webauthnScript = new URL(
  '../dist/bundle/index.umd.min.js',
  import.meta.resolve('@simplewebauthn/browser'),
)

const files = {
  'berth.css': {
    content: `${tokensCss}${baseCss}${fileText(new URL('./static/berth.css', import.meta.url))}`,
    type: 'text/css',
  },
  'icon.svg': { content: iconSvg, type: 'image/svg+xml' },
  'webauthn.js': { content: fileText(webauthnScript), type: 'text/javascript' },
  'fragment-code.js': {
    content: fileText(new URL('./static/fragment-code.js', import.meta.url)),
    type: 'text/javascript',
  },
  'passkey.js': {
    content: fileText(new URL('./static/passkey.js', import.meta.url)),
    type: 'text/javascript',
  },
  'password.js': {
    content: fileText(new URL('./static/password.js', import.meta.url)),
    type: 'text/javascript',
  },
} as const
export type AssetName = keyof typeof files

const revision = Object.values(files)
  .reduce((hash, { content }) => hash.update(content), createHash('sha256'))
  .digest('base64url')
  .slice(0, 12)

const PREFIX = '/sign-in/assets'

export function assetPath(name: AssetName): string {
  return `${PREFIX}/${revision}/${name}`
}

export function assetRoutes(): Hono<SignInEnv> {
  const app = new Hono<SignInEnv>()
  for (const [name, { content, type }] of Object.entries(files)) {
    const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
    app.get(assetPath(name as AssetName), (c) => {
      c.header('cache-control', `public, max-age=${YEAR_SECONDS}, immutable`)
      c.header('etag', etag)
      const seen = c.req.header('if-none-match')
      if (seen !== undefined && matchesEtag(seen, etag)) return c.body(null, 304)
      return c.body(content, 200, { 'content-type': `${type}; charset=utf-8` })
    })
  }
  return app
}
