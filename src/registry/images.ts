import { ImagesService } from '#gen/chainguard/platform/registry/v2beta1/images_pb.js'
import { allowed } from '../core/allowed.ts'
import { implement } from '../core/call.ts'
import { ApiError, Code, type FieldViolation, notFound } from '../core/errors.ts'
import { refuseIfAny } from '../core/fields.ts'
import { limits } from '../core/limits.ts'
import type { Db } from '../storage/db.ts'
import { readResource } from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'
import { REPO_TYPE } from './parent-repo.ts'
import { checkDigest } from './tag-name.ts'

/** What can be said of an image by its digest. The answers are in its manifests, so there is none for what was never pushed. */

const MANIFEST_TYPE = 'registry.chainguard.dev/Manifest'

export function imagesService({ db }: Pick<Store, 'db'>) {
  return implement(ImagesService, {
    async getArchitectures({ digest }, call) {
      await requireRepo(db, allowed(call).scope)
      refuseIfAny(checkDigest(digest))
      throw noManifest(digest)
    },

    async getSize({ digest, architecture }, call) {
      await requireRepo(db, allowed(call).scope)
      refuseIfAny(checkDigest(digest), checkArchitecture(architecture))
      throw noManifest(digest)
    },
  })
}

async function requireRepo(db: Db, uid: string): Promise<void> {
  if ((await readResource(db, 'repos', uid)) === undefined) throw notFound(REPO_TYPE, uid)
}

/** Nothing can be pushed to this server yet, so no repo has a manifest. */
function noManifest(digest: string): ApiError {
  const description = `nothing was pushed to this repo under ${digest}`
  return new ApiError(Code.NOT_FOUND, `Not found: ${description}`, {
    details: [{ kind: 'ResourceInfo', resourceType: MANIFEST_TYPE, resourceName: digest, description }],
  })
}

/** An architecture of the OCI image specification, with its variant if need be: `arm64`, `arm/v7`. */
function checkArchitecture(architecture: string): FieldViolation | undefined {
  const fits = architecture.length <= limits.architectureCharsMax && /^[a-z0-9_/]*$/.test(architecture)
  return fits
    ? undefined
    : { field: 'architecture', description: 'must be an architecture such as amd64 or arm/v7' }
}
