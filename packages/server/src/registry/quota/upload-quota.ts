import { rootOf } from '../../api/uid.ts'
import type { OciContext, OciServices } from '../oci/context.ts'
import { remainingStorage } from './usage.ts'

/**
 * How many more bytes the target organization may store. An upload that exceeds the quota is rejected as early as possible; the
 * decisive count is in the transaction that links the blob.
 */

export interface UploadQuota {
  /** Throws code 8 for an upload of this size if it exceeds the quota. */
  requireBytes(bytes: number): void
  /** Passes the bytes on; fails with code 8 when they exceed the quota. `before`: bytes that the upload already has. */
  limitBytes(bytes: AsyncIterable<Uint8Array>, before: number): AsyncIterable<Uint8Array>
}

const unlimited: UploadQuota = { requireBytes() {}, limitBytes: (bytes) => bytes }

/**
 * `digest`: if known. Bytes that the organization already has do not count. Rejects with code 8 if the disk has no space for the
 * declared length of the request.
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

/** Returns the declared length of a request; 0 if unknown. */
export function declaredLength({ request }: Pick<OciContext, 'request'>): number {
  const length = Number(request.headers['content-length'] ?? 0)
  return Number.isSafeInteger(length) ? length : 0
}
