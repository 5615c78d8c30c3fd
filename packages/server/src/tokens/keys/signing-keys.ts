import type { KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { nodeShares, runShared } from '../../pipeline/request/request-context.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import type { SigningKeyRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { nextAlgorithms } from './next-algorithm.ts'
import {
  generateKeyRow,
  keysVersion,
  type LoadedKey,
  loadKeyRow,
  lockKeys,
  type SigningAlgorithm,
} from './signing-key-rows.ts'

/**
 * The keys that sign our tokens: stored encrypted, shared by all nodes through the database. A new key is published an hour before it
 * signs, so that caches of the key set contain it by then, and an old key stays published until the last token that it signed has expired. A
 * compromised key is withdrawn immediately, which invalidates its tokens. Another algorithm is a new key like any other: until it signs, and
 * until the old tokens have expired, keys of both algorithms are published.
 */

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

export const keyRotation = {
  /** Default of how long a key signs. */
  signsForMs: 30 * DAY_MS,
  /** A successor is published at least this long before it signs. */
  publishedAheadMs: HOUR_MS,
  /** How long a key stays published after it stopped signing: longer than the lifetime of any token. */
  publishedAfterMs: 2 * HOUR_MS,
  /** Interval at which a node checks for changes of the keys, and the smallest interval between reloads because of an unknown key id. */
  reloadIntervalMs: 5000,
} as const

/** A node creates the successor of a key in the key's last day, with the next request. */
const SUCCESSOR_CREATED_MS = DAY_MS

export interface SigningKey {
  readonly kid: string
  readonly algorithm: SigningAlgorithm
  readonly key: KeyObject
}

/** A key as the operator sees it. */
export interface SigningKeyInfo {
  readonly kid: string
  readonly algorithm: SigningAlgorithm
  /** `next`: published, signs later. `signing`: signs now. `published`: no longer signs. */
  readonly state: 'next' | 'signing' | 'published'
  readonly createdMs: number
  readonly signsFromMs: number
  /** End of its publication. */
  readonly expiresMs: number
}

export interface SigningKeys {
  /** The key to sign with now. */
  current(): Promise<SigningKey>
  /** The key to verify with; undefined if no published key has this id. */
  byId(kid: string): Promise<KeyObject | undefined>
  /** Whether a key is still published, as far as this node knows. */
  isPublished(kid: string): boolean
  /** The published key set (RFC 7517). */
  published(): Promise<{ readonly keys: readonly JWK[] }>
  list(): Promise<SigningKeyInfo[]>
  /**
   * Publishes a successor that signs in an hour, unless one exists. `now`: the new key signs immediately, and all others are deleted, which
   * invalidates all tokens that they signed.
   */
  rotate(options: RotateOptions): Promise<void>
  /** Follows changes by other nodes and the operator, until it is stopped. */
  watch(options: WatchOptions): { stop(): Promise<void> }
}

export interface RotateOptions {
  readonly now: boolean
  /** Runs in the same transaction, if there is a change. */
  readonly with?: (tx: Tx) => Promise<void>
}

export interface WatchOptions {
  readonly intervalMs?: number | undefined
  readonly onError: (error: unknown) => void
  readonly onDone?: (() => void) | undefined
}

const doNothing = async () => undefined

/** `signsForMs`: how long a key signs. `algorithm`: of new keys; undefined: of the newest key, for a first key the default. */
export function signingKeys(
  store: Pick<Store, 'db' | 'clock' | 'secretsKey'>,
  {
    signsForMs = keyRotation.signsForMs,
    algorithm: configured,
    onError = () => undefined,
  }: {
    readonly signsForMs?: number
    readonly algorithm?: SigningAlgorithm | undefined
    /** Called when a successor could not be created while the key before it still signs. */
    readonly onError?: (error: unknown) => void
  } = {},
): SigningKeys {
  const { db, clock } = store
  const { publishedAheadMs, publishedAfterMs, reloadIntervalMs } = keyRotation
  let loaded: readonly LoadedKey[] = []
  let version: string | undefined
  let loadedAtMs = Number.NEGATIVE_INFINITY
  let missedAtMs = Number.NEGATIVE_INFINITY
  let failedAtMs = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined
  const algorithms = nextAlgorithms(configured)

  const load = async () => {
    // Read before the rows, so that the next check detects a concurrent change.
    const seen = await keysVersion(store)
    const rows = await db.kysely
      .selectFrom('signing_keys')
      .selectAll()
      .where('expires_ms', '>', clock())
      .execute()
    loaded = rows.map((row): LoadedKey => {
      const known = loaded.find((key) => key.row.kid === row.kid)
      return known === undefined ? loadKeyRow(store, row) : { ...known, row }
    })
    version = seen
    loadedAtMs = clock()
  }
  const reload = () => {
    loading ??= runShared(load, nodeShares.reads).finally(() => {
      loading = undefined
    })
    return loading
  }
  /** Reloads after our own change: a running load may have read the rows before it. */
  const reloadChanged = async () => {
    await loading?.catch(() => undefined)
    await reload()
  }

  /** The keys that sign now or later, in the order in which they start. A key that another one replaced before it signed is not among them. */
  const usableKeys = (now: number) =>
    loaded
      .filter(({ row }) => Math.max(now, row.signs_from_ms) < endOf(row))
      .sort((one, other) => one.row.signs_from_ms - other.row.signs_from_ms)

  const isNext = (row: SigningKeyRow, now: number) =>
    row.signs_from_ms > now && row.signs_from_ms < endOf(row)

  /** When a key stops signing: by the configuration, but early enough that its last tokens expire while it is published. */
  const endOf = ({ signs_from_ms, expires_ms }: SigningKeyRow) =>
    Math.min(signs_from_ms + signsForMs, expires_ms - publishedAfterMs)

  /** The key that signs last, as far as is known; it may not sign yet. */
  const newestKey = (now: number) => usableKeys(now).at(-1)

  const nextAlgorithm = () => algorithms.next(newestKey(clock())?.algorithm)

  /**
   * Creates a key that signs from a time on, unless there is one that signs from later than `sinceMs` and may still sign then; of the same
   * algorithm, if the new key is to change it. Of concurrent nodes one creates it.
   */
  const create = async (
    signsFromMs: number,
    sinceMs: number,
    {
      with: also = doNothing,
      changesAlgorithm = false,
    }: Omit<RotateOptions, 'now'> & { changesAlgorithm?: boolean } = {},
  ) => {
    const algorithm = nextAlgorithm()
    const row = await generateKeyRow(store, algorithm, {
      signs_from_ms: signsFromMs,
      expires_ms: signsFromMs + signsForMs + publishedAfterMs,
    })
    await inTransaction(db, async (tx) => {
      await lockKeys(tx)
      const existing = await tx
        .selectFrom('signing_keys')
        .select('public_jwk')
        .where('signs_from_ms', '>', sinceMs)
        .where('expires_ms', '>', signsFromMs + publishedAfterMs)
        .execute()
      if (existing.some((one) => !changesAlgorithm || (JSON.parse(one.public_jwk) as JWK).alg === algorithm))
        return
      await tx.insertInto('signing_keys').values(row).execute()
      // Earlier keys sign until then, and are published until their last tokens have expired.
      await tx
        .updateTable('signing_keys')
        .set({ expires_ms: signsFromMs + publishedAfterMs })
        .where('kid', '<>', row.kid)
        .where('expires_ms', '>', signsFromMs + publishedAfterMs)
        .execute()
      await also(tx)
    })
  }
  const replaceAll = async (also: RotateOptions['with'] = doNothing) => {
    const now = clock()
    const row = await generateKeyRow(store, nextAlgorithm(), {
      signs_from_ms: now,
      expires_ms: now + signsForMs + publishedAfterMs,
    })
    await inTransaction(db, async (tx) => {
      await lockKeys(tx)
      await tx.deleteFrom('signing_keys').execute()
      await tx.insertInto('signing_keys').values(row).execute()
      await also(tx)
    })
  }

  /** The newest key that may sign now. If the clock of this node is behind that of the creator of the first key, the first key. */
  const selectKey = (now: number) => {
    const usable = usableKeys(now)
    return usable.findLast(({ row }) => row.signs_from_ms <= now) ?? usable[0]
  }

  /** The key to sign with now. Creates it if there is none, and creates its successor in its last day. */
  const ensureSigningKey = async (): Promise<LoadedKey> => {
    const now = clock()
    if (now - loadedAtMs > HOUR_MS / 4) await reload()
    let key = selectKey(now)
    if (key === undefined) {
      await create(now, now - signsForMs)
      await reloadChanged()
      key = selectKey(now)
      if (key === undefined) throw new Error('no signing key could be created')
    }
    const endsMs = endOf(key.row)
    const hasSuccessor = loaded.some(({ row }) => isNext(row, now))
    const isLastDay = endsMs - now < Math.min(SUCCESSOR_CREATED_MS, signsForMs)
    const changesAlgorithm = algorithms.requireChange(newestKey(now)?.algorithm)
    if ((changesAlgorithm || (isLastDay && !hasSuccessor)) && now - failedAtMs > reloadIntervalMs) {
      const soonest = now + publishedAheadMs
      try {
        await create(changesAlgorithm ? soonest : Math.max(soonest, endsMs - publishedAheadMs), now, {
          changesAlgorithm,
        })
        algorithms.settle()
        await reloadChanged()
      } catch (error) {
        // The current key signs until a read-only database has recovered.
        failedAtMs = clock()
        if (now >= endsMs) throw error
        onError(error)
      }
    }
    return key
  }

  const find = (kid: string) => {
    const key = loaded.find(({ row }) => row.kid === kid)
    return key !== undefined && key.row.expires_ms > clock() ? key : undefined
  }

  return {
    async current() {
      const { row, algorithm, privateKey } = await ensureSigningKey()
      return { kid: row.kid, algorithm, key: privateKey }
    },

    async byId(kid) {
      if (find(kid) === undefined && clock() - missedAtMs > reloadIntervalMs) {
        missedAtMs = clock()
        await reload()
      }
      return find(kid)?.publicKey
    },

    isPublished: (kid) => find(kid) !== undefined,

    async published() {
      // Clients cache the key set, so it must contain the successor, also if no tokens are issued.
      await ensureSigningKey()
      const now = clock()
      return { keys: loaded.filter(({ row }) => row.expires_ms > now).map(({ publicJwk }) => publicJwk) }
    },

    async list() {
      await reload()
      const { row: signing } = await ensureSigningKey()
      const now = clock()
      return [...loaded]
        .sort((one, other) => one.row.signs_from_ms - other.row.signs_from_ms)
        .map(({ row, algorithm }) => ({
          kid: row.kid,
          algorithm,
          state: row.kid === signing.kid ? 'signing' : isNext(row, now) ? 'next' : 'published',
          createdMs: row.created_ms,
          signsFromMs: row.signs_from_ms,
          expiresMs: row.expires_ms,
        }))
    },

    async rotate({ now: immediately, with: also }) {
      const now = clock()
      if (immediately) {
        await replaceAll(also)
      } else {
        await ensureSigningKey()
        await create(now + publishedAheadMs, now, also && { with: also })
      }
      await reloadChanged()
    },

    watch({ intervalMs = reloadIntervalMs, onError, onDone }) {
      const poll = async () => {
        if ((await keysVersion(store)) !== version) await reload()
      }
      return startPeriodicTask(intervalMs, poll, onError, onDone)
    },
  }
}
