import type { BerthError, CopyImageResponse } from '@berth/client/berth.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { isNotFound, resolveRepoUid } from '../../invocation/resource-lookup.ts'
import type { CopyCounts, CopyOptions } from '../../oci-client/copy.ts'
import { NotSignedIn } from '../../session/access-token.ts'
import type { ImageLocation } from './image-location.ts'

/** Copies between two repos of the platform: the server does it, and no layer is transferred. */

export interface ServerCopy {
  /** Returns the digest, and adds to `counts`; undefined if the server cannot copy the image, so that the client has to. */
  copy(reference: string, tag: string | undefined, counts: CopyCounts): Promise<string | undefined>
}

/** RPC codes after which the client copies itself: it finds the image, has other rights, or reports why not. */
const NOT_FOUND = 5
const PERMISSION_DENIED = 7
const UNIMPLEMENTED = 12
const UNAUTHENTICATED = 16

export function createServerCopy(
  invocation: Invocation,
  [from, to]: readonly [ImageLocation, ImageLocation],
  { referrers, keepTags, signal }: Pick<CopyOptions, 'referrers' | 'keepTags' | 'signal'>,
): ServerCopy {
  let uids: readonly [string, string] | undefined
  let isPossible = from.platformRepo !== undefined && to.platformRepo !== undefined
  const resolve = async ({ platformRepo = '' }: ImageLocation) => resolveRepoUid(invocation, platformRepo)

  const copyImage = async (reference: string, tag: string): Promise<CopyImageResponse | undefined> => {
    try {
      const client = await invocation.client()
      // Without the repo, the client copies the first tag, which creates it.
      uids ??= [await resolve(from), await resolve(to)]
      const [sourceUid, uid] = uids
      return await client.imageCopies.copyImage(
        { uid, sourceUid, reference, tag, includeReferrers: referrers, overwrite: !keepTags },
        { signal },
      )
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof NotSignedIn) isPossible = false
      else if (isFailure(error) && [PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED].includes(error.code))
        isPossible = false
      else if (!isNotFound(error) && !(isFailure(error) && isForClient(error))) throw error
      return undefined
    }
  }

  return {
    async copy(reference, tag, counts) {
      const copied = isPossible ? await copyImage(reference, tag ?? '') : undefined
      if (copied === undefined) return undefined
      for (const warning of copied.warnings) invocation.output.notice(`warning: ${warning}`)
      counts.manifests += copied.copiedManifests
      counts.manifestsThere += copied.existingManifests
      counts.blobsMounted += copied.mountedBlobs
      counts.blobsThere += copied.existingBlobs
      counts.referrers += copied.referrers
      return copied.digest
    },
  }
}

const isFailure = (error: unknown): error is BerthError =>
  error instanceof Error && error.name === 'BerthError'

function isForClient({ status, code, preconditionViolations }: BerthError): boolean {
  return (
    status === 0 ||
    code === NOT_FOUND ||
    preconditionViolations.some(({ type }) => type === 'TOO_MANY_MANIFESTS')
  )
}
