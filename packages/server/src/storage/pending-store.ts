import { createHash, randomBytes } from 'node:crypto'
import { seal, unseal } from '../runtime/encryption.ts'
import { inTransaction, lockForUpdate, type Reader, type Tx } from './db.ts'
import { lockSetting } from './settings.ts'
import type { Store } from './store.ts'

/**
 * State of sign-ins between two requests, for all nodes and over restarts. A secret that only the client knows identifies an entry. Entries
 * expire, and they are encrypted, since they can hold credentials.
 */
export interface PendingStore<T> {
  /** Stores `data` for the lifetime of its kind; returns the secret, by default 43 random characters of base64url. */
  add(data: T, secret?: string): Promise<string>
  /** Stores `data` under a secret, replacing an existing entry. */
  set(secret: string, data: T): Promise<void>
  /** Stores `data` and deletes all other entries of this kind; returns the secret. */
  replaceAll(data: T): Promise<string>
  /**
   * Like replaceAll, except that callers within `sharedMs` of each other get the same secret. `data` is stored with the secret, encrypted.
   * `lock`: a row of `settings` that exists.
   */
  addShared(data: T, options: { readonly sharedMs: number; readonly lock: string }): Promise<string>
  /** Returns undefined if no entry has this secret or it has expired. */
  read(secret: string): Promise<T | undefined>
  /** Reads and deletes in one statement, so only one of several concurrent callers gets the data; in `tx`, when that commits. */
  consume(secret: string, tx?: Tx): Promise<T | undefined>
  /** Changes the data and keeps its expiry; returns false if there is no entry. */
  update(secret: string, change: (data: T) => T | undefined): Promise<boolean>
}

type PendingStoreDependencies = Pick<Store, 'db' | 'clock' | 'secretsKey'>

const SECRET_BYTES = 32

export function generateSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** Returns the hash of a secret that the database stores. */
export function hashSecret(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest()
}

export function pendingStore<T>(
  { db, clock, secretsKey }: PendingStoreDependencies,
  kind: string,
  lifetimeMs: number,
): PendingStore<T> {
  const context = `pending ${kind}`
  const encrypt = (data: T) => seal(secretsKey, JSON.stringify(data), context)
  const decrypt = (row: { readonly data: Uint8Array; readonly expires_ms: number } | undefined) => {
    // Expiry is checked on use, whether or not the row was deleted (R16).
    if (row === undefined || row.expires_ms <= clock()) return undefined
    const text = unseal(secretsKey, row.data, context)
    return text === undefined ? undefined : (JSON.parse(text) as T)
  }
  const find = (reader: Reader, secret: string) =>
    reader
      .selectFrom('pending')
      .select(['data', 'expires_ms'])
      .where('kind', '=', kind)
      .where('secret_hash', '=', hashSecret(secret))

  const rowOf = (secret: string, data: T) => ({
    kind,
    secret_hash: hashSecret(secret),
    data: encrypt(data),
    expires_ms: clock() + lifetimeMs,
  })

  return {
    async add(data, secret = generateSecret()) {
      const row = rowOf(secret, data)
      await inTransaction(db, (tx) => tx.insertInto('pending').values(row).execute())
      return secret
    },

    async replaceAll(data) {
      const secret = generateSecret()
      const row = rowOf(secret, data)
      await inTransaction(db, async (tx) => {
        await tx.deleteFrom('pending').where('kind', '=', kind).execute()
        await tx.insertInto('pending').values(row).execute()
      })
      return secret
    },

    async addShared(data, { sharedMs, lock }) {
      return inTransaction(db, async (tx) => {
        await lockSetting(db, tx, lock)
        const rows = await tx
          .selectFrom('pending')
          .select(['data', 'expires_ms'])
          .where('kind', '=', kind)
          .where('expires_ms', '>', clock() + lifetimeMs - sharedMs)
          .execute()
        for (const row of rows) {
          const { secret } = (decrypt(row) ?? {}) as { readonly secret?: string }
          if (secret !== undefined) return secret
        }
        const secret = generateSecret()
        await tx.deleteFrom('pending').where('kind', '=', kind).execute()
        await tx
          .insertInto('pending')
          .values(rowOf(secret, { ...data, secret }))
          .execute()
        return secret
      })
    },

    async set(secret, data) {
      const changed = { data: encrypt(data), expires_ms: clock() + lifetimeMs }
      await inTransaction(db, (tx) =>
        tx
          .insertInto('pending')
          .values({ kind, secret_hash: hashSecret(secret), ...changed })
          .onConflict((conflict) => conflict.columns(['kind', 'secret_hash']).doUpdateSet(changed))
          .execute(),
      )
    },

    async read(secret) {
      return decrypt(await find(db.kysely, secret).executeTakeFirst())
    },

    async consume(secret, within) {
      const remove = (tx: Tx) =>
        tx
          .deleteFrom('pending')
          .where('kind', '=', kind)
          .where('secret_hash', '=', hashSecret(secret))
          .returning(['data', 'expires_ms'])
          .executeTakeFirst()
      return decrypt(await (within === undefined ? inTransaction(db, remove) : remove(within)))
    },

    async update(secret, change) {
      return inTransaction(db, async (tx) => {
        const row = await lockForUpdate(db, find(tx, secret)).executeTakeFirst()
        const data = decrypt(row)
        const changed = data === undefined ? undefined : change(data)
        if (changed === undefined) return false
        await tx
          .updateTable('pending')
          .set({ data: encrypt(changed) })
          .where('kind', '=', kind)
          .where('secret_hash', '=', hashSecret(secret))
          .execute()
        return true
      })
    },
  }
}
