import { randomBytes } from 'node:crypto'
import { type BlobStore, MissingBytes } from '../registry/blobs/blob-store.ts'
import { type Db, inTransaction, type Reader, type Tx } from '../storage/db.ts'
import { lockSetting, readSetting, writeSetting } from '../storage/settings.ts'

/**
 * Binds a database to its blob store. Both have the same identity: a node with another directory or bucket would answer for blobs that it
 * does not have, and its garbage collection would delete those of another database.
 */

/** The setting of the database. `adopted`: a store has the identity. */
interface StoreIdentitySetting {
  readonly id: string
  readonly adopted: boolean
}

export class ForeignStore extends Error {
  override readonly name = 'ForeignStore'
}

export interface IdentityLog {
  debug(fields: object, message: string): void
  warn(fields: object, message: string): void
}

const SETTING = 'blob_store'
const ID_BYTES = 16
/** Blobs of the database that are looked for in a store without the right identity. */
const SAMPLE_SIZE = 10

/**
 * Checks that the store is the one of the database. A database that has no store yet adopts one that is empty or has blobs of it. Throws
 * ForeignStore, which says what the store lacks.
 */
export async function requireMatchingStore(db: Db, blobs: BlobStore, log: IdentityLog): Promise<void> {
  const known = await readIdentitySetting(db.kysely)
  if (known?.adopted && known.id === (await blobs.identity.read())) return
  await changeIdentity(db, async (known, tx) => {
    // Read again: another node may have written it.
    const found = await blobs.identity.read()
    if (found === known.id) return found
    if (found === undefined) {
      await requireEmptyOrMatching(tx, blobs, { ...known, isShared: db.rules.isShared })
      return await writeIdentity(blobs, known.id, log).catch((error: unknown) => ignoreIfReadOnly(error, log))
    }
    // A copy of a database and its store, of which the database is from before it had an identity.
    if (!known.adopted && (await countPresentBlobs(blobs, await sampleBlobs(tx))) > 0) return found
    throw new ForeignStore(
      `it belongs to another database: it has the identity ${found}, and the database expects ${known.id}`,
    )
  })
}

/** Makes the store the one of the database, whatever is in it. Returns the identity. */
export async function adoptStore(db: Db, blobs: BlobStore, log: IdentityLog): Promise<string> {
  return changeIdentity(db, (known) => writeIdentity(blobs, known.id, log))
}

/** What `berth admin check` reads: the identities of the database and of the store. Changes nothing. */
export async function readStoreIdentities(
  db: Db,
  blobs: BlobStore,
): Promise<{ readonly expected: string | undefined; readonly found: string | undefined }> {
  const known = await readIdentitySetting(db.kysely)
  return { expected: known?.adopted ? known.id : undefined, found: await blobs.identity.read() }
}

/** Runs `adopt`, which returns the identity of the store, or undefined to change nothing, while no other node does. */
async function changeIdentity<Id extends string | undefined>(
  db: Db,
  adopt: (known: StoreIdentitySetting, tx: Tx) => Promise<Id>,
): Promise<Id> {
  const first: StoreIdentitySetting = { id: randomBytes(ID_BYTES).toString('hex'), adopted: false }
  await writeSetting(db.kysely, SETTING, JSON.stringify(first), { onlyIfAbsent: true })
  return inTransaction(db, async (tx) => {
    const text = await lockSetting(db, tx, SETTING)
    if (text === undefined) throw new Error(`the setting ${SETTING} does not exist`)
    const id = await adopt(JSON.parse(text) as StoreIdentitySetting, tx)
    if (id !== undefined)
      await writeSetting(tx, SETTING, JSON.stringify({ id, adopted: true } satisfies StoreIdentitySetting))
    return id
  })
}

async function writeIdentity(blobs: BlobStore, id: string, log: IdentityLog): Promise<string> {
  await blobs.identity.write(id)
  const written = await blobs.identity.read()
  if (written !== id)
    throw new ForeignStore(`another database adopted it in this moment: it has the identity ${written}`)
  log.debug({ identity: id }, 'the blob store has the identity of the database now')
  return id
}

/** A directory that is mounted read-only can still be read from: it has blobs of the database. */
function ignoreIfReadOnly(error: unknown, log: IdentityLog): undefined {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'EROFS' && code !== 'EACCES' && code !== 'EPERM') throw error
  log.warn({ err: error }, 'the blob store is read-only, so it does not get the identity of the database')
}

async function requireEmptyOrMatching(
  tx: Tx,
  blobs: BlobStore,
  { id, adopted, isShared }: StoreIdentitySetting & { readonly isShared: boolean },
): Promise<void> {
  const sample = await sampleBlobs(tx)
  if (sample.length > 0) {
    if ((await countPresentBlobs(blobs, sample)) > 0) return
    throw new ForeignStore(
      `it has no identity, and none of the ${sample.length} blobs of the database that were looked for`,
    )
  }
  if (!(await isEmpty(blobs)))
    throw new ForeignStore('it has blobs, and the database has none: they belong to another database')
  // A SQLite database has one server, so no other node uses the store that it left.
  if (adopted && isShared)
    throw new ForeignStore(
      `it is empty and has no identity, and the database expects a store with the identity ${id}`,
    )
}

interface SampledBlob {
  readonly location: string
  readonly size: number
}

/** Digests are random, so the first ones are a random sample. */
function sampleBlobs(tx: Tx): Promise<SampledBlob[]> {
  return tx
    .selectFrom('blobs')
    .select(['location', 'size'])
    .where('location', '!=', '')
    .where('size', '>', 0)
    .orderBy('digest')
    .limit(SAMPLE_SIZE)
    .execute()
}

/** How many blobs of a sample the store has. */
async function countPresentBlobs(blobs: BlobStore, sample: readonly SampledBlob[]): Promise<number> {
  let hits = 0
  for (const { location } of sample) if (await hasBlob(blobs, location)) hits++
  return hits
}

async function hasBlob(blobs: BlobStore, location: string): Promise<boolean> {
  try {
    for await (const _ of blobs.read(location, { start: 0, end: 1 })) return true
    return false
  } catch (error) {
    if (error instanceof MissingBytes) return false
    throw error
  }
}

async function isEmpty(blobs: BlobStore): Promise<boolean> {
  for await (const _ of blobs.listBlobs()) return false
  return true
}

async function readIdentitySetting(db: Reader): Promise<StoreIdentitySetting | undefined> {
  const text = await readSetting(db, SETTING)
  return text === undefined ? undefined : (JSON.parse(text) as StoreIdentitySetting)
}
