import { AsyncLocalStorage } from 'node:async_hooks'
import { type Kysely, sql } from 'kysely'
import { storageFaultOf } from '../../api/storage-faults.ts'
import { currentContext } from '../../pipeline/request/request-context.ts'
import type { Tx } from '../db.ts'
import type { Tables } from '../schema/tables.ts'
import { runSqliteTransaction } from './transactions.ts'

/**
 * Group commit. SQLite has one writer at a time, and a durable commit mostly waits for the disk. Changes that are ready at the same moment
 * therefore run in sequence in one transaction, each in its own savepoint: a failure undoes only its change, and none is acknowledged before
 * the commit is on disk. No reads run in between, since the connection is locked until then.
 */
export type RunTransaction = <T>(work: (tx: Tx) => Promise<T>, options?: TransactionOptions) => Promise<T>

export interface TransactionOptions {
  /**
   * The commit does not wait for the disk: the change is visible, but a power loss undoes it unless a later commit was synced. For changes
   * that can be repeated without loss.
   */
  readonly mayBeLost?: boolean
}

/** Changes in one commit: bounds how long readers wait. */
const GROUP_MAX = 32

interface Change extends TransactionOptions {
  readonly work: (tx: Tx) => Promise<unknown>
  readonly waiter: PromiseWithResolvers<unknown>
}

export interface GroupCommitOptions {
  /** Receives whether the next transaction may be lost. */
  readonly allowLoss?: (mayBeLost: boolean) => void
  /** Waits until this process may write; the changes that arrive meanwhile join the commit. */
  readonly waitForTurn?: (() => Promise<void>) | undefined
}

export function groupCommit(
  kysely: Kysely<Tables>,
  { allowLoss = () => undefined, waitForTurn }: GroupCommitOptions = {},
): RunTransaction {
  const waiting: Change[] = []
  let scheduled = false

  const runWaiting = async () => {
    while (waiting.length > 0) {
      await waitForTurn?.()
      const group = waiting.splice(0, GROUP_MAX)
      const [only] = group
      allowLoss(group.every(({ mayBeLost }) => mayBeLost === true))
      await (group.length === 1 && only !== undefined ? runAlone(kysely, only) : runGroup(kysely, group))
    }
    scheduled = false
  }

  return <T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions = {}) => {
    const waiter = Promise.withResolvers<unknown>()
    // One request starts the commit of others.
    const runInCallerContext = AsyncLocalStorage.snapshot()
    const workInCallerContext = (tx: Tx) =>
      runInCallerContext(() => {
        currentContext()?.throwIfAborted()
        return work(tx)
      })
    waiting.push({ ...options, work: workInCallerContext, waiter })
    if (!scheduled) {
      scheduled = true
      // After all sockets of this iteration of the event loop: their changes join the same commit.
      setImmediate(() => void runWaiting())
    }
    return waiter.promise as Promise<T>
  }
}

async function runAlone(kysely: Kysely<Tables>, { work, waiter }: Change): Promise<void> {
  await runSqliteTransaction(kysely, work).then(waiter.resolve, waiter.reject)
}

async function runGroup(kysely: Kysely<Tables>, group: readonly Change[]): Promise<void> {
  const acknowledgements: (() => void)[] = []
  try {
    await runSqliteTransaction(kysely, async (tx) => {
      for (const { work, waiter } of group) {
        await sql`savepoint change`.execute(tx)
        try {
          const result = await work(tx)
          acknowledgements.push(() => waiter.resolve(result))
        } catch (error) {
          if (storageFaultOf(error) !== undefined) throw error
          await sql`rollback to change`.execute(tx)
          acknowledgements.push(() => waiter.reject(error))
        }
        await sql`release change`.execute(tx)
      }
    })
  } catch (error) {
    // The group has written nothing. On a full disk a smaller change can still fit, such as a deletion.
    if (storageFaultOf(error) !== undefined) for (const change of group) await runAlone(kysely, change)
    else for (const { waiter } of group) waiter.reject(error)
    return
  }
  for (const acknowledgeChange of acknowledgements) acknowledgeChange()
}
