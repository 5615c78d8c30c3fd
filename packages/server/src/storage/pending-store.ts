import { createHash, randomBytes } from 'node:crypto'
import { seal, unseal } from '../runtime/encryption.ts'
import { inTransaction, lockForUpdate, type Reader, type Tx } from './db.ts'
import { lockSetting } from './settings.ts'
import type { Store } from './store.ts'

/**
 * What a sign-in remembers between two requests, also over a restart and on every node: each piece is found by a secret that only
 * its holder knows, lives for a limited time, and is encrypted, since it may hold what proves who somebody is.
 */
export interface PendingStore<T> {
  /** Keeps `data` for as long as its kind lives; returns the secret, 43 characters of base64url, unless one is given. */
  add(data: T, secret?: string): Promise<string>
  /** Keeps `data` in place of what may be kept with this secret. */
  set(secret: string, data: T): Promise<void>
  /** Keeps `data` in place of all that is kept of this kind; returns the secret. */
  replaceAll(data: T): Promise<string>
  /**
   * As keepOnly, except that callers within `sharedMs` of each other get the same secret. `data` is stored with the secret, encrypted.
   * `lock`: a row of `settings` that exists.
   */
  addShared(data: T, options: { readonly sharedMs: number; readonly lock: string }): Promise<string>
  /** Undefined when there is none with this secret, or no longer. */
  read(secret: string): Promise<T | undefined>
  /** Reads and deletes in one statement: of many who try at once, one gets it. In a transaction, if it succeeds. */
  consume(secret: string, tx?: Tx): Promise<T | undefined>
  /** Replaces what is kept, with the time that it has left; false when there is none. */
  update(secret: string, change: (data: T) => T | undefined): Promise<boolean>
}

type PendingStoreDependencies = Pick<Store, 'db' | 'clock' | 'secretsKey'>

const SECRET_BYTES = 32

export function generateSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** What the database knows of a secret. */
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
    // Looked at when it is asked for, whatever was cleared away meanwhile (R16).
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
