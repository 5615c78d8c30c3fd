import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import {
  type Manifest,
  type ManifestContent,
  ManifestKind,
  ManifestSchema,
} from '@berth/contract/gen/berth/registry/v1/manifest_pb.js'
import {
  type ListManifestsRequest,
  ListManifestsResponseSchema,
  ManifestsService,
} from '@berth/contract/gen/berth/registry/v1/manifests_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { create } from '@bufbuild/protobuf'
import { type FieldViolation, invalidArgument, notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { parseOrderBy } from '../../api/order-by.ts'
import { effectivePageSize } from '../../api/page-tokens.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireCapabilities, requireScope } from '../../pipeline/authorization.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { deleteManifest } from '../deletion/manifest-deletion.ts'
import { untaggedManifestHandlers } from '../deletion/untagged-manifests.ts'
import { createPlatformReader } from '../inspection/image-platforms.ts'
import { describeManifest } from '../inspection/manifest-description.ts'
import {
  countManifests,
  type ListedManifest,
  type ManifestCursor,
  type ManifestFilter,
  type ManifestOrder,
  manifestKinds,
  readManifestPage,
} from '../inspection/manifest-list.ts'
import { countReferrers, toAnnotations } from '../inspection/manifest-referrers.ts'
import { type ManifestTags, readManifestTags } from '../inspection/manifest-tags.ts'
import type { ContentReader } from '../manifests/manifest-reader.ts'
import { MANIFEST_TYPE, requireRepo } from './parent-repo.ts'
import { checkDigest } from './tag-names.ts'

/** Manifests of a repo: images, indexes and artifacts. */

const metadataList = capabilitySetOf([Capability.CAP_MANIFEST_METADATA_LIST])
const tagList = capabilitySetOf([Capability.CAP_TAG_LIST])
const referrersList = capabilitySetOf([Capability.CAP_REFERRERS_LIST])

export function manifestsService(store: Store, blobs: Pick<BlobStore, 'read'>, reader: ContentReader) {
  const { db, pageTokens } = store
  const readPlatforms = createPlatformReader(db, blobs)

  /** Returns no tags to callers who may not list them. */
  const tagsOf = (call: Call, repo: string, digests: readonly string[], namesMax: number) =>
    mayDo(call, repo, tagList) ? readManifestTags(db, repo, digests, namesMax) : new Map()

  return implement(ManifestsService, {
    ...untaggedManifestHandlers(store),

    async listManifests(request, call) {
      const { scope: repo } = requireScope(call)
      await requireRepo(db, repo)
      const { pageSize, pageToken } = request
      if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
      const order = readOrder(request.orderBy)
      const filter = readFilter(request)
      if (filter.tagged !== undefined)
        requireCapabilities(authorizationOf(call).grants, repo, tagList, 'filter manifests by tags')
      const listKey = JSON.stringify([...callerBinding(call), repo, filter, order])
      const cursor = readCursor(pageTokens, pageToken, listKey)
      const page = await readManifestPage(db, readPlatforms, {
        repo,
        filter,
        order,
        after: cursor?.after as ManifestCursor | undefined,
        size: effectivePageSize(pageSize),
      })
      const digests = page.manifests.map(({ row }) => row.digest)
      const tags = await tagsOf(call, repo, digests, limits.listedManifestTagsMax)
      const total = cursor?.totalCount ?? (await countManifests(db, repo, filter))
      return create(ListManifestsResponseSchema, {
        manifests: page.manifests.map((manifest) => toManifest(manifest, tags.get(manifest.row.digest))),
        nextPageToken:
          page.next === undefined
            ? ''
            : pageTokens.issue(
                {
                  after: page.next,
                  skip: 0,
                  skipped: 0,
                  ...(total !== undefined && { totalCount: total }),
                },
                listKey,
              ),
        ...(total !== undefined && { manifestCount: BigInt(total) }),
      })
    },

    async getManifest({ digest }, call) {
      const { scope: repo } = requireScope(call)
      await requireRepo(db, repo)
      requireValid(checkDigest(digest))
      const row = await db.kysely
        .selectFrom('manifests')
        .selectAll()
        .where('root', '=', rootOf(repo))
        .where('repo', '=', repo)
        .where('digest', '=', digest)
        .executeTakeFirst()
      if (row === undefined) throw notFound(MANIFEST_TYPE, digest)
      const { content, ...description } = await describeManifest({ db, blobs, reader }, row)
      if (!mayDo(call, repo, metadataList)) hideConfiguration(content)
      const tags = await tagsOf(call, repo, [digest], limits.manifestTagsShownMax)
      content.referrerCount = mayDo(call, repo, referrersList) ? await countReferrers(db, repo, digest) : 0
      const manifest = { row, ...description }
      return toManifest(manifest, tags.get(digest), { content, annotations: toAnnotations(row.annotations) })
    },

    async deleteManifest({ digest, validateOnly }, call) {
      const { scope: repo } = requireScope(call)
      await requireRepo(db, repo)
      requireValid(checkDigest(digest))
      return deleteManifest(store, call, { repo, digest, validateOnly })
    },
  })
}

function mayDo(call: Call, repo: string, needed: typeof tagList): boolean {
  return includesAll(authorizationOf(call).grants.at(repo), needed)
}

/** Build steps and the environment can have secrets. */
function hideConfiguration(content: ManifestContent): void {
  delete content.configuration
  for (const layer of content.layers) layer.createdBy = ''
}

const sortFields = { push_time: 'created_ms', pushTime: 'created_ms', digest: 'uid' } as const

function readOrder(orderBy: string): ManifestOrder {
  const order = parseOrderBy(orderBy.trim() === '' ? 'push_time desc' : orderBy, sortFields)
  if ('problem' in order) throw invalidArgument('order_by', order.problem)
  const [first] = order
  return {
    column: first?.column === 'created_ms' ? 'created_ms' : 'digest',
    descending: first?.descending === true,
  }
}

const kindNames = new Map(
  (Object.keys(manifestKinds) as (keyof typeof manifestKinds)[]).map((name) => [manifestKinds[name], name]),
)

function readFilter({
  kind,
  tagged,
  platform,
  mediaType,
  artifactType,
}: ListManifestsRequest): ManifestFilter {
  const name = (kindNames as ReadonlyMap<ManifestKind, ManifestFilter['kind']>).get(kind)
  requireValid(
    kind === ManifestKind.UNSPECIFIED || name !== undefined
      ? undefined
      : { field: 'kind', description: `${kind} is not a kind of manifests` },
    checkPlatform(platform),
    checkType(mediaType, 'mediaType'),
    checkType(artifactType, 'artifactType'),
  )
  return { kind: name, tagged, platform, mediaType, artifactType }
}

const platformPattern = /^(?:[^\s/]+\/[^\s/]+(?:\/[^\s/]+)?)?$/

function checkPlatform(platform: string): FieldViolation | undefined {
  if (platformPattern.test(platform) && platform.length <= limits.platformCharsMax) return undefined
  return { field: 'platform', description: 'must be a platform such as linux/amd64 or linux/arm/v7' }
}

export function checkType(type: string, field: string): FieldViolation | undefined {
  if (type.length <= limits.mediaTypeCharsMax) return undefined
  return { field, description: `must have at most ${limits.mediaTypeCharsMax} characters` }
}

interface ManifestDetails {
  readonly content: ManifestContent
  readonly annotations: Record<string, string>
}

function toManifest(
  { row, kind, imageSize, platforms }: ListedManifest,
  tags: ManifestTags | undefined,
  details: Partial<ManifestDetails> = {},
): Manifest {
  return create(ManifestSchema, {
    digest: row.digest,
    kind: manifestKinds[kind],
    mediaType: row.media_type,
    artifactType: row.artifact_type,
    size: BigInt(row.size),
    ...(imageSize !== undefined && { imageSize: BigInt(imageSize) }),
    pushTime: timestampOf(Number(row.created_ms)),
    subject: row.subject,
    tags: [...(tags?.names ?? [])],
    tagCount: tags?.count ?? 0,
    platforms: [...platforms],
    ...details,
  })
}
