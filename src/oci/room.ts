import { rootOf } from '../core/uid.ts'
import { roomIn } from '../storage/registry-usage.ts'
import type { Registry, Visit } from './visit.ts'

/**
 * How many more bytes the organization that is pushed to may store. What an upload brings is refused as early as it is known to be too
 * much; what decides is the count in the transaction that links it.
 */

export interface Room {
  /** Throws code 8 for an upload that will be so large. */
  require(bytes: number): void
  /** The same bytes; fails with code 8 where there are too many. `before`: those that the upload has already. */
  within(bytes: AsyncIterable<Uint8Array>, before: number): AsyncIterable<Uint8Array>
}

const endless: Room = { require() {}, within: (bytes) => bytes }

/**
 * `digest`: where it is known. What the organization has already takes no room. Rejects with code 8 where the disk has no space for what
 * the request says it brings.
 */
export async function roomFor(
  registry: Pick<Registry, 'store' | 'disk'>,
  visit: Pick<Visit, 'place' | 'request'>,
  digest?: string,
): Promise<Room> {
  const { disk } = registry
  const declared = declaredLength(visit)
  if (declared > 0) await disk.requireSpaceForBlobs(declared)
  const { require, within } = await roomInOrganization(registry, visit, digest)
  return { require, within: (bytes, before) => within(disk.withinSpace(bytes), before) }
}

async function roomInOrganization(
  { store: { db } }: Pick<Registry, 'store'>,
  { place }: Pick<Visit, 'place'>,
  digest: string | undefined,
): Promise<Room> {
  const scope = place.repo ?? place.group
  if (scope === undefined) return endless
  const root = rootOf(scope)
  const room = await roomIn(db, root)
  if (room === undefined) return endless
  if (digest !== undefined && (await isStored(root, digest))) return endless
  const require = (bytes: number) => {
    if (bytes > room.bytes) throw room.exceeded()
  }
  return {
    require,
    async *within(bytes, before) {
      let size = before
      for await (const chunk of bytes) {
        size += chunk.length
        require(size)
        yield chunk
      }
    },
  }

  async function isStored(organization: string, wanted: string): Promise<boolean> {
    const one = await db.kysely
      .selectFrom('repo_blobs')
      .select('repo')
      .where('digest', '=', wanted)
      .where('root', '=', organization)
      .limit(1)
      .executeTakeFirst()
    return one !== undefined
  }
}

/** Bytes that a request says it brings; 0 where it does not say. */
export function declaredLength({ request }: Pick<Visit, 'request'>): number {
  const length = Number(request.headers['content-length'] ?? 0)
  return Number.isSafeInteger(length) ? length : 0
}
