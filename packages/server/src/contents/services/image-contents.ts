import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import {
  CompareImagePackagesResponseSchema,
  ContentsSource,
  ContentsState,
  type ImageContents,
  ImageContentsSchema,
  ImageContentsService,
  ImagePackageSchema,
  ImageSbomSchema,
  ListImagePackagesResponseSchema,
  SbomFormat,
} from '@berth/contract/gen/berth/registry/v1/contents_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import type { ImagePackage } from '@berth/image-contents/contents.ts'
import { lastDayMs } from '@berth/image-contents/end-of-life.ts'
import { create } from '@bufbuild/protobuf'
import { invalidArgument } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { parseOrderBy } from '../../api/order-by.ts'
import { effectivePageSize } from '../../api/page-tokens.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireCapabilities, requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import type { ManifestContentsRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { readStoredContents } from '../storing/stored-contents.ts'
import type { ContentsReader } from './contents-reader.ts'
import {
  comparePackages,
  cursorOf,
  filterPackages,
  orderPackages,
  type PackageCursor,
  packageSortFields,
} from './package-list.ts'

/** What images contain. */

const readers = capabilitySetOf([Capability.CAP_REPO_LIST, Capability.CAP_TENANT_SBOMS_LIST])

export function imageContentsService(store: Store, reader: ContentsReader) {
  const { db, clock, pageTokens } = store

  return implement(ImageContentsService, {
    async getImageContents({ reference, platform }, call) {
      const { scope: repo } = requireScope(call)
      return toMessage(db, await reader.requireImage({ repo, reference, platform }))
    },

    async listImagePackages({ reference, platform, pageSize, pageToken, orderBy, ...filter }, call) {
      const { scope: repo } = requireScope(call)
      if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
      for (const field of ['type', 'namePrefix', 'license'] as const)
        if (filter[field].length > limits.contentsFieldCharsMax)
          throw invalidArgument(field, `must have at most ${limits.contentsFieldCharsMax} characters`)
      const order = parseOrderBy(orderBy.trim() === '' ? 'name' : orderBy, packageSortFields)
      if ('problem' in order) throw invalidArgument('order_by', order.problem)
      const row = await reader.requireImage({ repo, reference, platform })
      const { type, namePrefix, license } = filter
      const binding = JSON.stringify([
        ...callerBinding(call),
        ...[repo, reference, platform, type, namePrefix, license, orderBy],
      ])
      const after = readCursor(pageTokens, pageToken, binding)?.after as PackageCursor | undefined
      const matching = filterPackages(await reader.readPackages(row), filter)
      const size = effectivePageSize(pageSize)
      const rest = orderPackages(matching, order, after)
      const page = rest.slice(0, size)
      const last = rest.length > size ? page.at(-1) : undefined
      return create(ListImagePackagesResponseSchema, {
        packages: page.map(toPackage),
        nextPageToken:
          last === undefined
            ? ''
            : pageTokens.issue({ after: [...cursorOf(last, order)], skip: 0, skipped: 0 }, binding),
        totalCount: BigInt(matching.length),
        digest: row.digest,
      })
    },

    async getImageSbom({ reference, platform, format }, call) {
      const { scope: repo } = requireScope(call)
      const row = await reader.requireImage({ repo, reference, platform })
      switch (format) {
        case SbomFormat.UNSPECIFIED:
        case SbomFormat.SPDX:
        case SbomFormat.CYCLONEDX:
          return create(ImageSbomSchema, { digest: row.digest, ...(await reader.readSbom(row, format)) })
        default:
          throw invalidArgument('format', 'must be a format of SBOMs')
      }
    },

    async compareImagePackages({ reference, otherUid, otherReference, platform }, call) {
      const { scope: repo } = requireScope(call)
      const otherRepo = otherUid === '' ? repo : otherUid
      if (otherRepo !== repo)
        requireCapabilities(authorizationOf(call).grants, otherRepo, readers, 'read the second image')
      const first = await reader.requireImage({ repo, reference, platform })
      const second = await reader.requireImage(
        { repo: otherRepo, reference: otherReference, platform },
        'other_reference',
      )
      const { added, removed, changed } = comparePackages(
        await reader.readPackages(first),
        await reader.readPackages(second),
      )
      return create(CompareImagePackagesResponseSchema, {
        digest: first.digest,
        otherDigest: second.digest,
        added: added.map(toPackage),
        removed: removed.map(toPackage),
        changed: changed.map((change) => ({
          ...change,
          versions: [...change.versions],
          otherVersions: [...change.otherVersions],
        })),
      })
    },

    async readImageAgain({ reference, platform }, call) {
      const { scope: repo } = requireScope(call)
      const row = await reader.requireImage({ repo, reference, platform })
      const response = await toMessage(db, { ...row, state: 'pending' })
      return mutate(store, call, async (tx) => {
        await tx
          .updateTable('manifest_contents')
          .set({ state: 'pending', attempts: 0, due_ms: clock() })
          .where('root', '=', row.root)
          .where('uid', '=', row.uid)
          .execute()
        return { uid: repo, response }
      })
    },
  })
}

const states: Readonly<Record<string, ContentsState>> = {
  pending: ContentsState.PENDING,
  backlog: ContentsState.PENDING,
  read: ContentsState.READ,
  failed: ContentsState.FAILED,
  none: ContentsState.NOT_AN_IMAGE,
}

const sources: Readonly<Record<string, ContentsSource>> = {
  sbom: ContentsSource.ATTACHED_SBOM,
  'sbom-file': ContentsSource.SBOM_FILES,
  layers: ContentsSource.LAYERS,
}

async function toMessage({ kysely }: Store['db'], row: ManifestContentsRow): Promise<ImageContents> {
  const counts =
    row.source === ''
      ? []
      : await kysely
          .selectFrom('manifest_packages as link')
          .innerJoin('packages', (join) =>
            join.onRef('packages.root', '=', 'link.root').onRef('packages.id', '=', 'link.package'),
          )
          .select(({ fn }) => ['packages.type', fn.countAll().as('count')])
          .where('link.root', '=', row.root)
          .where('link.contents', '=', row.id)
          .groupBy('packages.type')
          .orderBy('packages.type')
          .execute()
  const problems = Number(row.problems) === 0 ? [] : ((await readStoredContents(kysely, row))?.problems ?? [])
  const { distribution_id: id, distribution_version: version, distribution_name: name } = row
  const supportEndMs = Number(row.support_end_ms) || undefined
  const ends = lastDayMs({ id, versionId: version, supportEndMs })
  return create(ImageContentsSchema, {
    digest: row.digest,
    state: states[row.state] ?? ContentsState.UNSPECIFIED,
    reason: row.state === 'failed' ? row.reason : '',
    source: sources[row.source] ?? ContentsSource.UNSPECIFIED,
    sbomFormat: row.format,
    ...(id === ''
      ? {}
      : {
          distribution: {
            id,
            version,
            name,
            ...(ends !== undefined && { endOfLifeTime: timestampOf(ends) }),
          },
        }),
    packageCount: Number(row.packages),
    typeCounts: counts.map(({ type, count }) => ({ type, count: Number(count) })),
    problems: problems.map(({ path, reason }) => ({ path, reason })),
    ...(Number(row.read_ms) === 0 ? {} : { readTime: timestampOf(Number(row.read_ms)) }),
  })
}

function toPackage({ origin, builtMs, endOfLifeMs, ...found }: ImagePackage) {
  return create(ImagePackageSchema, {
    ...found,
    ...(builtMs !== undefined && { buildTime: timestampOf(builtMs) }),
    ...(endOfLifeMs !== undefined && { endOfLifeTime: timestampOf(endOfLifeMs) }),
    originName: origin?.name ?? '',
    originVersion: origin?.version ?? '',
  })
}
