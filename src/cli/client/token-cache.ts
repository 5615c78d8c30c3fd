import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Environment } from './settings.ts'

/**
 * Tokens on disk, in the layout that clients of the platform share: `<audience>/[<alias>/]<kind>` below the user's cache. Files are
 * for their owner alone and are replaced whole, so that nobody ever reads half of one.
 */
export interface TokenCache {
  readonly base: string
  read(kind: TokenKind, audience: string, alias?: string): string | undefined
  write(kind: TokenKind, token: string, audience: string, alias?: string): void
  remove(kind: TokenKind, audience: string, alias?: string): void
  /** Deletes the tokens for an audience, or all of them; returns how many there were. */
  clear(audience?: string): number
  /** Every access token with the directory that it lies in. */
  all(): { readonly audience: string; readonly token: string }[]
}

export const kinds = ['oidc-token', 'refresh-token'] as const
export type TokenKind = (typeof kinds)[number]

function cacheDirectory(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'berth')
}

export function tokenCache(env: Environment): TokenCache {
  const base = cacheDirectory(env)
  const fileOf = (kind: TokenKind, audience: string, alias = '') =>
    join(base, audience.replaceAll('/', '-'), alias.replaceAll('/', '_'), kind)
  const isToken = (name: string): name is TokenKind => kinds.some((kind) => kind === name)

  const filesBelow = (directory: string): string[] => {
    try {
      return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
        const path = join(directory, entry.name)
        if (entry.isDirectory()) return filesBelow(path)
        return isToken(entry.name) ? [path] : []
      })
    } catch {
      return []
    }
  }
  const tidy = (directory: string): void => {
    try {
      // Fails while anything is left in it, which is what is wanted.
      if (directory.startsWith(base)) {
        rmdirSync(directory)
        tidy(dirname(directory))
      }
    } catch {}
  }
  return {
    base,
    read(kind, audience, alias) {
      try {
        return readFileSync(fileOf(kind, audience, alias), 'utf8')
      } catch {
        return undefined
      }
    },
    write(kind, token, audience, alias) {
      const file = fileOf(kind, audience, alias)
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      for (let at = dirname(file); at.startsWith(base); at = dirname(at)) chmodSync(at, 0o700)
      const draft = `${file}.${process.pid}`
      writeFileSync(draft, token, { mode: 0o600 })
      renameSync(draft, file)
    },
    remove(kind, audience, alias) {
      rmSync(fileOf(kind, audience, alias), { force: true })
    },
    clear(audience) {
      const files = filesBelow(audience === undefined ? base : join(base, audience.replaceAll('/', '-')))
      for (const file of files) {
        rmSync(file, { force: true })
        tidy(dirname(file))
      }
      return files.length
    },
    all: () =>
      filesBelow(base)
        .filter((file) => file.endsWith('oidc-token'))
        .map((file) => ({
          audience: dirname(file).slice(base.length + 1),
          token: readFileSync(file, 'utf8'),
        })),
  }
}

/** How long a token is good for, in ms; 0 for one that has ended or cannot be read. */
export function remainingMs(token: string | undefined, now = Date.now()): number {
  const { exp } = claimsOf(token)
  return typeof exp === 'number' ? Math.max(0, exp * 1000 - now) : 0
}

/** What a JWT says, or a refresh token, which is padded base64 of JSON. Not verified: it is our own. */
export function claimsOf(token = ''): Readonly<Record<string, unknown>> {
  const [, payload] = token.split('.')
  try {
    const text = Buffer.from(payload ?? token, payload === undefined ? 'base64' : 'base64url').toString()
    const claims: unknown = JSON.parse(text)
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
