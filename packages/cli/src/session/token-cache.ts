import { chmodSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { replaceFile } from '../config/replace-file.ts'
import type { Environment } from '../config/settings.ts'
import { cacheDirectory } from '../config/user-directories.ts'

/**
 * Tokens on disk, in the layout that clients of the platform share: `<audience>/[<alias>/]<kind>` in the user's cache. Only the owner
 * can read the files, and they are replaced atomically.
 */
export interface TokenCache {
  readonly directory: string
  read(kind: TokenKind, audience: string): string | undefined
  write(kind: TokenKind, token: string, audience: string): void
  remove(kind: TokenKind, audience: string): void
  /** Deletes the tokens for an audience, or all tokens. Returns the number of deleted files. */
  clear(audience?: string): number
  /** Returns all tokens of a kind. */
  all(kind: TokenKind): string[]
  /** Deletes the access tokens whose claims match. */
  removeWhere(isUnwanted: (claims: Readonly<Record<string, unknown>>) => boolean): void
}

/** `workload-login`: how a workload signed in, without its token (sign-in/workload.ts). */
const kinds = ['oidc-token', 'refresh-token', 'workload-login'] as const
export type TokenKind = (typeof kinds)[number]

/** A token is refreshed if it expires sooner than this. */
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
      // Fails for a directory that is not empty, as intended.
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

/** Includes drafts that a killed process left behind. */
function isTokenFile(name: string): boolean {
  return kinds.some((kind) => name === kind || (name.startsWith(`${kind}.`) && /\.\d+$/.test(name)))
}

/** Returns a directory name for the audience that cannot leave the cache. */
function directoryName(audience: string): string {
  const name = audience.replaceAll(process.platform === 'win32' ? /[/\\:]/g : '/', '-')
  return /^\.+$/.test(name) ? name.replaceAll('.', '-') : name
}

/** Returns the stored access token for an audience if it does not expire soon. */
export function findValidToken(cache: TokenCache, audience: string): string | undefined {
  const token = cache.read('oidc-token', audience)
  return remainingMs(token) > MARGIN_MS ? token : undefined
}

/** Returns the remaining lifetime of a token in ms; 0 if it is expired or invalid. */
export function remainingMs(token: string | undefined, now = Date.now()): number {
  const { exp } = decodeClaims(token)
  return typeof exp === 'number' ? Math.max(0, exp * 1000 - now) : 0
}

/** Decodes the claims of a JWT, or of a refresh token, which is padded base64 of JSON. Does not verify them. */
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
