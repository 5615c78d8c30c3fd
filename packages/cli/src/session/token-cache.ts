import { chmodSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { replaceFile } from '../config/replace-file.ts'
import type { Environment } from '../config/settings.ts'
import { cacheDirectory } from '../config/user-directories.ts'

/**
 * Tokens on disk, in the layout that clients of the platform share: `<audience>/[<alias>/]<kind>` below the user's cache. Files are
 * for their owner alone and are replaced whole, so that nobody ever reads half of one.
 */
export interface TokenCache {
  readonly directory: string
  read(kind: TokenKind, audience: string): string | undefined
  write(kind: TokenKind, token: string, audience: string): void
  remove(kind: TokenKind, audience: string): void
  /** Deletes the tokens for an audience, or all of them; returns how many there were. */
  clear(audience?: string): number
  /** Every token of a kind. */
  all(kind: TokenKind): string[]
  /** Deletes the access tokens of which this is true. */
  removeWhere(isUnwanted: (claims: Readonly<Record<string, unknown>>) => boolean): void
}

const kinds = ['oidc-token', 'refresh-token'] as const
export type TokenKind = (typeof kinds)[number]

/** A token is renewed when less than this is left of it. */
const MARGIN_MS = 60_000

export function openTokenCache(env: Environment): TokenCache {
  const base = join(cacheDirectory(env), 'berth')
  const directoryOf = (audience: string) => join(base, directoryName(audience))
  const fileOf = (kind: TokenKind, audience: string) => join(directoryOf(audience), kind)

  const filesBelow = (directory: string): string[] => {
    try {
      return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
        const path = join(directory, entry.name)
        if (entry.isDirectory()) return filesBelow(path)
        return isTokenFile(entry.name) ? [path] : []
      })
    } catch {
      return []
    }
  }
  const removeFile = (file: string): void => {
    rmSync(file, { force: true })
    try {
      // Fails while anything is left in it, which is what is wanted.
      for (let at = dirname(file); at.startsWith(base); at = dirname(at)) rmdirSync(at)
    } catch {}
  }
  return {
    directory: base,
    read: (kind, audience) => read(fileOf(kind, audience)),
    write(kind, token, audience) {
      const file = fileOf(kind, audience)
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      for (let at = dirname(file); at.startsWith(base); at = dirname(at)) chmodSync(at, 0o700)
      replaceFile(file, token, 0o600)
    },
    remove(kind, audience) {
      removeFile(fileOf(kind, audience))
    },
    clear(audience) {
      const files = filesBelow(audience === undefined ? base : directoryOf(audience))
      for (const file of files) removeFile(file)
      return files.length
    },
    all: (kind) =>
      filesBelow(base)
        .filter((file) => basename(file) === kind)
        .flatMap((file) => read(file) ?? []),
    removeWhere(isUnwanted) {
      for (const file of filesBelow(base))
        if (basename(file) === 'oidc-token' && isUnwanted(decodeClaims(read(file)))) removeFile(file)
    },
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Drafts too, which a program that was killed leaves behind. */
function isTokenFile(name: string): boolean {
  return kinds.some((kind) => name === kind || (name.startsWith(`${kind}.`) && /\.\d+$/.test(name)))
}

/** The audience as the name of a directory, and never of one that is elsewhere. */
function directoryName(audience: string): string {
  const name = audience.replaceAll(process.platform === 'win32' ? /[/\\:]/g : '/', '-')
  return /^\.+$/.test(name) ? name.replaceAll('.', '-') : name
}

/** The access token for an audience, if one is kept that is good for a while. */
export function findValidToken(cache: TokenCache, audience: string): string | undefined {
  const token = cache.read('oidc-token', audience)
  return remainingMs(token) > MARGIN_MS ? token : undefined
}

/** How long a token is good for, in ms; 0 for one that has ended or cannot be read. */
export function remainingMs(token: string | undefined, now = Date.now()): number {
  const { exp } = decodeClaims(token)
  return typeof exp === 'number' ? Math.max(0, exp * 1000 - now) : 0
}

/** What a JWT says, or a refresh token, which is padded base64 of JSON. Not verified: it is our own. */
export function decodeClaims(token = ''): Readonly<Record<string, unknown>> {
  const [, payload] = token.split('.')
  try {
    const text = Buffer.from(payload ?? token, payload === undefined ? 'base64' : 'base64url').toString()
    const claims: unknown = JSON.parse(text)
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
