import { createHash } from 'node:crypto'
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { seal, unseal } from '../core/sealed.ts'
import { type Db, inTransaction } from '../storage/db.ts'
import { writeSetting } from '../storage/settings.ts'

/**
 * The keys that sign our tokens: ES256, stored encrypted, shared by all nodes through the database. A new key is published an
 * hour before it signs, so that everyone who caches the key set knows it by then, and an old one stays published until the
 * last token that it signed has expired.
 */

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

export const keyRotation = {
  /** How long a key signs. */
  signsForMs: 30 * DAY_MS,
  /** A successor is published this long before it signs. */
  publishedAheadMs: HOUR_MS,
  /** A key stays published after it stopped signing: longer than any token lives. */
  publishedAfterMs: 2 * HOUR_MS,
  /** A key id that is unknown makes a node look into the database, at most this often. */
  reloadIntervalMs: 5000,
} as const

export const ALGORITHM = 'ES256'

export interface SigningKey {
  readonly kid: string
  readonly key: CryptoKey
}

export interface SigningKeys {
  /** The key to sign with now. */
  current(): Promise<SigningKey>
  /** The key to verify with, or undefined when no published key has that id. */
  byId(kid: string): Promise<CryptoKey | undefined>
  /** The published key set (RFC 7517). */
  published(): Promise<{ readonly keys: readonly JWK[] }>
}

interface LoadedKey {
  readonly kid: string
  readonly publicJwk: JWK
  readonly publicKey: CryptoKey
  readonly privateKey: CryptoKey
  readonly signsFromMs: number
  readonly expiresMs: number
}

const context = (kid: string) => `signing key ${kid}`

/** `secretsKey` encrypts the private keys. */
export function signingKeys({
  db,
  clock,
  secretsKey,
}: {
  readonly db: Db
  readonly clock: () => number
  readonly secretsKey: Uint8Array
}): SigningKeys {
  let loaded: readonly LoadedKey[] = []
  let loadedAtMs = Number.NEGATIVE_INFINITY
  let missedAtMs = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined

  const load = async () => {
    const rows = await db.kysely
      .selectFrom('signing_keys')
      .selectAll()
      .where('expires_ms', '>', clock())
      .execute()
    loaded = await Promise.all(
      rows.map(async (row): Promise<LoadedKey> => {
        const known = loaded.find((key) => key.kid === row.kid)
        if (known !== undefined) return known
        const privateJwk = unseal(secretsKey, row.private_jwk, context(row.kid))
        if (privateJwk === undefined) {
          throw new Error('the signing keys in the database were encrypted with another master key')
        }
        const publicJwk = JSON.parse(row.public_jwk) as JWK
        return {
          kid: row.kid,
          publicJwk,
          publicKey: (await importJWK(publicJwk, ALGORITHM)) as CryptoKey,
          privateKey: (await importJWK(JSON.parse(privateJwk) as JWK, ALGORITHM)) as CryptoKey,
          signsFromMs: row.signs_from_ms,
          expiresMs: row.expires_ms,
        }
      }),
    )
    loadedAtMs = clock()
  }
  const reload = () => {
    loading ??= load().finally(() => {
      loading = undefined
    })
    return loading
  }

  /** Makes a key unless there is one that signs from later than `sinceMs`: of nodes that want one at once, one makes it. */
  const create = async (signsFromMs: number, sinceMs: number) => {
    const { privateKey, publicKey } = await generateKeyPair(ALGORITHM, { extractable: true })
    const jwk = await exportJWK(publicKey)
    const kid = createHash('sha256').update(`${jwk.x}.${jwk.y}`).digest('base64url').slice(0, 22)
    const publicJwk: JWK = { ...jwk, kid, alg: ALGORITHM, use: 'sig' }
    const privateJwk = JSON.stringify({ ...(await exportJWK(privateKey)), kid })
    await inTransaction(db, async (tx) => {
      // Holds the row until the end: the other nodes wait here.
      await writeSetting(tx, 'signing_keys_changed', String(clock()))
      const [made] = await tx
        .selectFrom('signing_keys')
        .select('kid')
        .where('signs_from_ms', '>', sinceMs)
        .limit(1)
        .execute()
      if (made !== undefined) return
      await tx
        .insertInto('signing_keys')
        .values({
          kid,
          public_jwk: JSON.stringify(publicJwk),
          private_jwk: seal(secretsKey, privateJwk, context(kid)),
          created_ms: clock(),
          signs_from_ms: signsFromMs,
          expires_ms: signsFromMs + keyRotation.signsForMs + keyRotation.publishedAfterMs,
        })
        .execute()
    })
  }

  /** The newest key that may sign now; by a clock that is behind that of the node which made the first one, that one. */
  const choose = (now: number) => {
    const usable = loaded
      .filter((key) => now < key.signsFromMs + keyRotation.signsForMs)
      .sort((one, other) => one.signsFromMs - other.signsFromMs)
    return usable.findLast((key) => key.signsFromMs <= now) ?? usable[0]
  }

  /** The key to sign with now; sees to it that there is one, and in its last day that its successor is published. */
  const rotated = async (): Promise<LoadedKey> => {
    const now = clock()
    if (now - loadedAtMs > HOUR_MS / 4) await reload()
    let key = choose(now)
    if (key === undefined) {
      await create(now, now - keyRotation.signsForMs)
      await reload()
      key = choose(now)
      if (key === undefined) throw new Error('no signing key could be made')
    }
    const endsMs = key.signsFromMs + keyRotation.signsForMs
    if (
      endsMs - now < 24 * keyRotation.publishedAheadMs &&
      !loaded.some((other) => other.signsFromMs > now)
    ) {
      await create(now + keyRotation.publishedAheadMs, now)
      await reload()
    }
    return key
  }

  return {
    async current() {
      const { kid, privateKey } = await rotated()
      return { kid, key: privateKey }
    },

    async byId(kid) {
      const find = () => loaded.find((key) => key.kid === kid && key.expiresMs > clock())
      if (find() === undefined && clock() - missedAtMs > keyRotation.reloadIntervalMs) {
        missedAtMs = clock()
        await reload()
      }
      return find()?.publicKey
    },

    async published() {
      // Whoever asks for the keys keeps them for a while: the next one must be among them also when nobody asks for tokens.
      await rotated()
      const now = clock()
      return { keys: loaded.filter((key) => key.expiresMs > now).map((key) => key.publicJwk) }
    },
  }
}
