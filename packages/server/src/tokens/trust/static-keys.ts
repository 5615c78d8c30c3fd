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

/** Sources that are remembered: importing keys costs more than verifying with them. */
const SOURCES_MAX = 1000
const sources = new LRUCache<string, KeySource>({ max: SOURCES_MAX })

/**
 * Why `text` cannot be the key set of a static-key identity, or undefined when it can: a JWK Set (RFC 7517)
 * of at most `jwksCharsMax` characters with at least one public key that can verify a token, and nothing that
 * its owner should have kept to himself. Reasons do not repeat the text.
 */
export function checkStaticKeys(text: string): string | undefined {
  if (text.length > limits.jwksCharsMax) return `must have at most ${limits.jwksCharsMax} characters`
  const jwks = parseJwks(text)
  if ('error' in jwks) return `must be a JSON Web Key Set: it ${jwks.error}`
  if (jwks.length === 0) return 'must contain a public key'
  const secret = jwks.findIndex((jwk) => secretKind(jwk) !== undefined)
  const found = jwks[secret]
  if (found !== undefined) {
    return secretKind(found) === 'private'
      ? `must contain public keys only: keys[${secret}] is a private key, which should now be replaced`
      : `must contain public keys only: keys[${secret}] is symmetric`
  }
  const imported = jwks.map(importVerificationKey)
  const problem = imported.find((key) => 'error' in key)
  if (imported.every((key) => 'error' in key) && problem !== undefined) {
    return `must contain a usable public key: keys[${imported.indexOf(problem)}] ${problem.error}`
  }
  return undefined
}

/**
 * The keys of a static-key identity. Unusable ones are passed over, a text that is no key set has none: what
 * is stored was checked by `checkStaticKeys` when it came in, and a rule that became stricter since must not
 * be bypassed.
 */
export function staticKeySource(text: string): KeySource {
  const hash = createHash('sha256').update(text).digest('base64')
  let source = sources.get(hash)
  if (source === undefined) {
    const jwks = parseJwks(text)
    const keys = 'error' in jwks ? [] : usableKeys(jwks)
    source = {
      async find(alg, kid) {
        const key = pickKey(keys, alg, kid)
        return key === undefined ? { kind: 'unknown' } : { kind: 'found', key }
      },
    }
    sources.set(hash, source)
  }
  return source
}

function parseJwks(text: string): ReturnType<typeof readJwks> {
  try {
    return readJwks(parseUntrustedJson(text))
  } catch {
    return { error: 'is not JSON' }
  }
}
