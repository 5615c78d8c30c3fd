import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { limits } from '../../config/limits.ts'
import { parseUntrustedJson } from '../../runtime/json/untrusted-json.ts'
import {
  importVerificationKey,
  type KeySource,
  pickKey,
  readJwks,
  secretKind,
  usableKeys,
} from './key-set.ts'

/** Size of the cache: importing keys costs more than verifying with them. */
const SOURCES_MAX = 1000
const sources = new LRUCache<string, KeySource>({ max: SOURCES_MAX })

/**
 * Returns why `text` cannot be stored as the keys of a static-key identity; undefined if it can: a text of at most `jwksCharsMax`
 * characters without private and symmetric keys. Reasons do not repeat the text.
 */
export function checkStaticKeys(text: string): string | undefined {
  if (text.length > limits.jwksCharsMax) return `must have at most ${limits.jwksCharsMax} characters`
  if (text.trim() === '') return 'must not be empty'
  const secret = findSecret(parseJson(text))
  if (secret === undefined) return undefined
  return secret === 'private'
    ? 'must contain public keys only: it contains a private key, which should now be replaced'
    : 'must contain public keys only: it contains a symmetric key'
}

/** Finds a private or symmetric key among the keys of a set, in a single key, and in PEM, also in base64. */
function findSecret(value: unknown): 'private' | 'symmetric' | undefined {
  if (typeof value === 'string') return isPrivatePem(value) ? 'private' : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const own = Array.isArray(value) ? undefined : secretKind(value as Readonly<Record<string, unknown>>)
  if (own !== undefined) return own
  for (const one of Object.values(value)) {
    const found = findSecret(one)
    if (found !== undefined) return found
  }
  return undefined
}

function isPrivatePem(text: string): boolean {
  return [text, Buffer.from(text, 'base64').toString('latin1')].some((one) =>
    one.includes('PRIVATE KEY-----'),
  )
}

/**
 * Returns why no token can be signed with one of the stored keys; undefined if `text` is a JWK Set (RFC 7517) with at least one usable
 * public key. Reasons do not repeat the text.
 */
export function staticKeysProblem(text: string): string | undefined {
  const jwks = parseJwks(text)
  if ('error' in jwks) return `must be a JSON Web Key Set: it ${jwks.error}`
  if (jwks.length === 0) return 'must contain a public key'
  const imported = jwks.map(importVerificationKey)
  const problem = imported.find((key) => 'error' in key)
  if (imported.every((key) => 'error' in key) && problem !== undefined) {
    return `must contain a usable public key: keys[${imported.indexOf(problem)}] ${problem.error}`
  }
  return undefined
}

/**
 * The keys of a static-key identity. Unusable keys are ignored, and an invalid key set has none.
 */
export function staticKeySource(text: string): KeySource {
  const hash = createHash('sha256').update(text).digest('base64')
  let source = sources.get(hash)
  if (source === undefined) {
    const jwks = parseJwks(text)
    const keys = 'error' in jwks ? [] : usableKeys(jwks)
    const problem = keys.length === 0 ? staticKeysProblem(text) : undefined
    const hint = problem && `staticKeys.issuerKeys of the identity ${problem}`
    source = {
      async find(alg, kid) {
        const key = pickKey(keys, alg, kid)
        return key === undefined ? { kind: 'unknown', hint } : { kind: 'found', key }
      },
    }
    sources.set(hash, source)
  }
  return source
}

function parseJwks(text: string): ReturnType<typeof readJwks> {
  const value = parseJson(text)
  return typeof value === 'string' ? { error: 'is not JSON' } : readJwks(value)
}

/** Returns the text itself if it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return parseUntrustedJson(text)
  } catch {
    return text
  }
}
