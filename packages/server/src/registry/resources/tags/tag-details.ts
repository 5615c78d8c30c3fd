import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import {
  type TagDetails,
  TagDetailsSchema,
  TagTarget,
} from '@berth/contract/gen/berth/registry/v1/repo_tags_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { isIndex } from '@berth/contract/image-media-types.ts'
import { create } from '@bufbuild/protobuf'
import { rootOf } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { Grants } from '../../../pipeline/authorization.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import type { Db } from '../../../storage/db.ts'
import type { TagRow } from '../../../storage/schema/tables.ts'
import { isImmutable } from '../../policies/immutable-tags.ts'
import { readPolicy, toPolicy } from '../../policies/policy-rows.ts'
import { toTag } from '../tags.ts'
import { readSizes } from './tag-sizes.ts'

/** What the tags of a page point to: a constant number of statements, whatever the number of tags. */

const manifestList = capabilitySetOf([Capability.CAP_MANIFEST_LIST])

interface Target {
  readonly media_type: string
  readonly artifact_type: string
  readonly size: number
}

/** Returns the details of tags of one repo, in the same order: for callers who cannot list manifests, without what the tags point to. */
export async function readTagDetails(
  db: Db,
  grants: Pick<Grants, 'at'>,
  repo: string,
  tags: readonly TagRow[],
): Promise<TagDetails[]> {
  const pointedTo = includesAll(grants.at(repo), manifestList) ? tags.map(({ digest }) => digest) : []
  const digests = [...new Set(pointedTo.filter((digest) => digest !== ''))]
  const policy = toPolicy({ uid: repo, created_ms: 0 }, await readPolicy(db.kysely, repo))
  const targets = await readTargets(db, repo, digests)
  const existing = [...targets.keys()]
  const indexes = existing.filter((digest) => isIndexTarget(targets.get(digest)))
  const sizes = await readSizes(db, repo, existing, indexes)
  const platforms = await readPlatforms(
    db,
    repo,
    indexes.filter((digest) => Number(targets.get(digest)?.size) <= limits.manifestInlineBytesMax),
  )
  const signed = await findSigned(db, repo, existing)
  return tags.map((row) => {
    const target = targets.get(row.digest)
    return create(TagDetailsSchema, {
      tag: toTag(row),
      immutable: isImmutable(policy, row.name),
      target: kindOf(target),
      mediaType: target?.media_type ?? '',
      artifactType: target?.artifact_type ?? '',
      sizeBytes: BigInt(sizes.get(row.digest) ?? 0),
      platforms: platforms.get(row.digest) ?? [],
      hasSignature: signed.has(row.digest),
    })
  })
}

async function readTargets(
  { kysely }: Db,
  repo: string,
  digests: readonly string[],
): Promise<ReadonlyMap<string, Target>> {
  if (digests.length === 0) return new Map()
  const rows = await kysely
    .selectFrom('manifests')
    .select(['digest', 'media_type', 'artifact_type', 'size'])
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', 'in', digests)
    .execute()
  return new Map(rows.map(({ digest, ...target }) => [digest, target]))
}

const isIndexTarget = (target: Target | undefined): boolean =>
  target !== undefined && isIndex({ mediaType: target.media_type })

const imageConfigTypes: readonly string[] = [
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
]

function kindOf(target: Target | undefined): TagTarget {
  if (target === undefined) return TagTarget.UNSPECIFIED
  if (isIndexTarget(target)) return TagTarget.INDEX
  return imageConfigTypes.includes(target.artifact_type) ? TagTarget.IMAGE : TagTarget.ARTIFACT
}

/** Returns the platforms of small indexes. They were validated when they were pushed. */
async function readPlatforms(
  { kysely }: Db,
  repo: string,
  indexes: readonly string[],
): Promise<ReadonlyMap<string, string[]>> {
  const found = new Map<string, string[]>()
  if (indexes.length === 0) return found
  const rows = await kysely
    .selectFrom('manifests')
    .select(['digest', 'content'])
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', 'in', indexes)
    .execute()
  for (const { digest, content } of rows) {
    await yieldToEventLoop()
    found.set(digest, platformsOf(content))
  }
  return found
}

const PLATFORM_CHARS_MAX = 64

function platformsOf(content: Uint8Array): string[] {
  let manifests: unknown
  try {
    manifests = (JSON.parse(Buffer.from(content).toString('utf8')) as { manifests?: unknown }).manifests
  } catch {
    return []
  }
  if (!Array.isArray(manifests)) return []
  const names = manifests.flatMap((entry: { platform?: Record<string, unknown> } | null) => {
    const { os, architecture, variant } = entry?.platform ?? {}
    // Attestations have the platform unknown/unknown.
    if (typeof os !== 'string' || typeof architecture !== 'string' || architecture === 'unknown') return []
    const parts = [os, architecture, ...(typeof variant === 'string' && variant !== '' ? [variant] : [])]
    return [parts.join('/').slice(0, PLATFORM_CHARS_MAX)]
  })
  return [...new Set(names)]
}

/** Artifact types of signatures and signed attestations. */
const signatureTypes: readonly string[] = [
  'application/vnd.dev.cosign.artifact.sig.v1+json',
  'application/vnd.dev.sigstore.bundle.v0.3+json',
  'application/vnd.dev.sigstore.bundle+json;version=0.3',
  'application/vnd.dev.sigstore.bundle+json;version=0.2',
  'application/vnd.dev.sigstore.bundle+json;version=0.1',
  'application/vnd.cncf.notary.signature',
]

const signatureTagOf = (digest: string) => `${digest.replace(':', '-')}.sig`

/** Returns which manifests have a signature: a referrer, or the tag that older clients use. */
async function findSigned(
  { kysely }: Db,
  repo: string,
  digests: readonly string[],
): Promise<ReadonlySet<string>> {
  if (digests.length === 0) return new Set()
  const referrers = await kysely
    .selectFrom('manifests')
    .select('subject')
    .distinct()
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    // The index of subjects has only rows with one.
    .where('subject', '<>', '')
    .where('subject', 'in', digests)
    .where('artifact_type', 'in', signatureTypes)
    .execute()
  const tags = await kysely
    .selectFrom('tags')
    .select('name')
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('name', 'in', digests.map(signatureTagOf))
    .execute()
  const tagged = new Set(tags.map(({ name }) => name))
  return new Set([
    ...referrers.map(({ subject }) => subject),
    ...digests.filter((digest) => tagged.has(signatureTagOf(digest))),
  ])
}
