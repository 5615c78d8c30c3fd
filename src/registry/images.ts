import { ImagesService } from '#gen/chainguard/platform/registry/v2beta1/images_pb.js'
import { allowed } from '../core/allowed.ts'
import { type Call, implement } from '../core/call.ts'
import { type ApiError, type FieldViolation, notFound } from '../core/errors.ts'
import { refuseIfAny } from '../core/fields.ts'
import { limits } from '../core/limits.ts'
import { readResource } from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'
import { REPO_TYPE } from './parent-repo.ts'
import { checkDigest } from './tag-name.ts'

/** Questions about images, answered from their manifests. Repos hold none as long as nothing can be pushed. */

const MANIFEST_TYPE = 'registry.chainguard.dev/Manifest'

export function imagesService({ db }: Pick<Store, 'db'>) {
  /** Code 5: for the repo when there is none, else for the manifest. Throws code 3 for a bad field. */
  const noManifest = async (
    call: Call,
    digest: string,
    ...checks: (FieldViolation | undefined)[]
  ): Promise<ApiError> => {
    const { scope } = allowed(call)
    if ((await readResource(db, 'repos', scope)) === undefined) return notFound(REPO_TYPE, scope)
    refuseIfAny(checkDigest(digest), ...checks)
    return notFound(MANIFEST_TYPE, digest)
  }

  return implement(ImagesService, {
    async getArchitectures({ digest }, call) {
      throw await noManifest(call, digest)
    },

    async getSize({ digest, architecture }, call) {
      throw await noManifest(call, digest, checkArchitecture(architecture))
    },
  })
}

/** As OCI image indexes name them: `amd64`, or `arm/v7` with a variant. Empty stands for `amd64`. */
const architecturePattern = /^(?:[a-z0-9_]+(?:\/[a-z0-9_]+)?)?$/

function checkArchitecture(architecture: string, field = 'architecture'): FieldViolation | undefined {
  if (architecture.length > limits.architectureCharsMax)
    return { field, description: `must have at most ${limits.architectureCharsMax} characters` }
  if (!architecturePattern.test(architecture))
    return {
      field,
      description: 'must be an architecture such as amd64, or one with a variant such as arm/v7',
    }
  return undefined
}
