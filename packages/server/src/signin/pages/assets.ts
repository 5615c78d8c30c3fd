import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { baseCss } from '@berth/look/base.ts'
import { iconSvg } from '@berth/look/icon.ts'
import { tokensCss } from '@berth/look/tokens.ts'
import type { Asset } from '../../port/documents/static-file.ts'

/** The stylesheet, scripts and icon of the pages. Their addresses contain a revision, so that browsers can cache them. */

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
  'send-once.js': {
    content: fileText(new URL('./static/send-once.js', import.meta.url)),
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

/** The files by their paths. */
export function pageAssets(): Readonly<Record<string, Asset>> {
  return Object.fromEntries(
    Object.entries(files).map(([name, { content, type }]) => [
      assetPath(name as AssetName),
      { content: () => content, type },
    ]),
  )
}
