import { rootOf } from '../../api/uid.ts'
import type { OciContext, OciServices } from '../oci/context.ts'
import { remainingStorage } from './usage.ts'

/**
 * How many more bytes the organization that is pushed to may store. What an upload brings is refused as early as it is known to be too
 * much; what decides is the count in the transaction that links it.
 */

export interface UploadQuota {
  /** Throws code 8 for an upload that will be so large. */
  requireBytes(bytes: number): void
  /** The same bytes; fails with code 8 where there are too many. `before`: those that the upload has already. */
  limitBytes(bytes: AsyncIterable<Uint8Array>, before: number): AsyncIterable<Uint8Array>
}

const unlimited: UploadQuota = { requireBytes() {}, limitBytes: (bytes) => bytes }

/**
 * `digest`: where it is known. What the organization has already takes no room. Rejects with code 8 where the disk has no space for what
 * the request says it brings.
 */
export async function readUploadQuota(
  registry: Pick<OciServices, 'store' | 'disk'>,
  context: Pick<OciContext, 'authorization' | 'request'>,
  digest?: string,
): Promise<UploadQuota> {
  const { disk } = registry
  const declared = declaredLength(context)
  if (declared > 0) await disk.requireSpaceForBlobs(declared)
  const { requireBytes, limitBytes } = await readOrganizationQuota(registry, context, digest)
  return { requireBytes, limitBytes: (bytes, before) => limitBytes(disk.limitToFreeSpace(bytes), before) }
}

async function readOrganizationQuota(
  { store: { db } }: Pick<OciServices, 'store'>,
  { authorization: { repository } }: Pick<OciContext, 'authorization'>,
  digest: string | undefined,
): Promise<UploadQuota> {
  const scope = repository.repo ?? repository.group
  if (scope === undefined) return unlimited
  const root = rootOf(scope)
  const quota = await remainingStorage(db, root)
  if (quota === undefined) return unlimited
  if (digest !== undefined && (await isStored(root, digest))) return unlimited
  const requireBytes = (bytes: number) => {
    if (bytes > quota.bytes) throw quota.exceeded()
  }
  return {
    requireBytes,
    async *limitBytes(bytes, before) {
      let size = before
      for await (const chunk of bytes) {
        size += chunk.length
        requireBytes(size)
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
export function declaredLength({ request }: Pick<OciContext, 'request'>): number {
  const length = Number(request.headers['content-length'] ?? 0)
  return Number.isSafeInteger(length) ? length : 0
}
