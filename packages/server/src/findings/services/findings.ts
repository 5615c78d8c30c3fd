import {
  AffectedImageSchema,
  AffectedImagesService,
  type Finding,
  FindingsService,
  ImageFindingsDifferenceSchema,
  ImageReportSchema,
  ListAffectedImagesResponseSchema,
  ListImageFindingsResponseSchema,
  type PendingWork,
  ReportFormat,
} from '@berth/contract/gen/berth/vulnerabilities/v1/findings_pb.js'
import { create } from '@bufbuild/protobuf'
import { checkCwes, checkRange, SCORE_MAX, severityNames } from '../../advisories/vulnerability-filters.ts'
import { failedPrecondition, invalidArgument, notFound, quotaExceeded } from '../../api/errors.ts'
import { checkLine, requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { effectivePageSize, requirePageSize } from '../../api/page-tokens.ts'
import { rootOf } from '../../api/uid.ts'
import type { Addresses } from '../../config/addresses.ts'
import { limits } from '../../config/limits.ts'
import type { ContentsReader } from '../../contents/services/contents-reader.ts'
import { contentsUnknown } from '../../contents/services/image-reference.ts'
import { readImageTags } from '../../contents/services/image-tags.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { MANIFEST_TYPE, requireRepo } from '../../registry/resources/parent-repo.ts'
import { checkDigest } from '../../registry/resources/tag-names.ts'
import type { Db } from '../../storage/db.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import type { Store } from '../../storage/store.ts'
import { writeImageReport } from '../reports/image-report.ts'
import { type AffectedImageCursor, readAffectedImages } from '../storage/affected-images.ts'
import { type Catalog, readCatalogs } from '../storage/catalog-facts.ts'
import {
  countFindingTotals,
  cursorOf,
  type FindingCursor,
  type FindingOrder,
  findingOrders,
  type ImageContentsIds,
  readAdvisoriesTime,
  readCoverage,
  readFindingPage,
  readFindingSource,
  readFindings,
  readImageContents,
  toContentsIds,
} from '../storage/image-findings.ts'
import { isMatchingPending, readPendingWork, requireMatched } from '../storage/pending-work.ts'
import { compareFindings } from './compare-findings.ts'
import { stateNames, toFinding, toFindingCount } from './finding-messages.ts'

interface FindingsOptions {
  readonly contents: Pick<ContentsReader, 'requireContents' | 'requireImage'>
  readonly addresses: Pick<Addresses, 'registryHost'>
}

/** Vulnerabilities of images. */
export function findingsService(
  { db, clock, pageTokens }: Pick<Store, 'db' | 'clock' | 'pageTokens'>,
  { contents: reader, addresses }: FindingsOptions,
) {
  return implement(FindingsService, {
    async listImageFindings(request, call) {
      const { scope: repo } = requireScope(call)
      const { pageSize, pageToken, tag, vulnerability, platform } = request
      const states = stateNames(request.states)
      const severities = severityNames(request.severities)
      const order = orderOf(request.orderBy)
      const { knownExploited: isExploited, minEpss, minScore, cwes } = request
      requirePageSize(pageSize)
      if ((request.digest === '') === (tag === ''))
        throw invalidArgument('digest', 'or tag must be set, not both')
      requireValid(
        tag === '' ? checkDigest(request.digest) : checkLine(tag, 'tag'),
        checkLine(vulnerability, 'vulnerability'),
        checkRange(minEpss, 'min_epss', 1),
        checkRange(minScore, 'min_score', SCORE_MAX),
        ...checkCwes(cwes),
      )
      await requireRepo(db, repo)
      const digest = tag === '' ? request.digest : await readTag(db, repo, tag)
      const contents =
        platform === ''
          ? await requireContents(db, repo, digest)
          : toContentsIds(await reader.requireImage({ repo, reference: digest, platform }))
      const root = rootOf(repo)
      const filters = { states, severities, vulnerability, isExploited, minEpss, minScore, cwes }
      const listKey = JSON.stringify([...callerBinding(call), repo, digest, platform, filters, order])
      const after = readCursor(pageTokens, pageToken, listKey)?.after as FindingCursor | undefined
      const size = effectivePageSize(pageSize)
      const [pending, coverage, catalogs, source] = await Promise.all([
        // Before the findings: what is matched now has its findings in every later read.
        readPendingWork(db, root, contents),
        readCoverage(db, root, contents.ids),
        readCatalogs(db, root),
        readFindingSource(db, root, contents.ids),
      ])
      requireCatalog(repo, catalogs, 'known_exploited', isExploited ? 'kev' : undefined)
      requireCatalog(repo, catalogs, 'min_epss', minEpss === undefined ? undefined : 'epss')
      const [rows, { counts, matching, exploited }, advisoriesMs] = await Promise.all([
        readFindingPage(db, root, source, filters, { order, after, size: size + 1 }),
        countFindingTotals(db, root, source, filters),
        readAdvisoriesTime(db, root),
      ])
      const page = rows.slice(0, size)
      const last = page.at(-1)
      return create(ListImageFindingsResponseSchema, {
        findings: page.map(toFinding),
        nextPageToken:
          rows.length <= size || last === undefined
            ? ''
            : pageTokens.issue({ after: cursorOf(last, order), skip: 0, skipped: 0 }, listKey),
        totalCount: BigInt(matching),
        knownExploitedCount: BigInt(exploited),
        counts: counts.map(toFindingCount),
        coverage: coverage.map(({ ecosystem, packages, isCovered }) => ({
          ecosystem,
          packageCount: BigInt(packages),
          covered: isCovered,
        })),
        digest,
        contentsState: contents.state,
        contentsReason: contents.state === 'failed' ? contents.reason : '',
        problemCount: BigInt(contents.problems),
        matched: contents.state === 'read' && pending.length === 0,
        pending: contents.state === 'failed' ? [] : [...pending],
        ...(advisoriesMs > 0 && { advisoriesTime: timestampOf(advisoriesMs) }),
        catalogs: catalogs.map(({ format, publishedMs }) => ({
          format,
          publishTime: timestampOf(publishedMs),
        })),
      })
    },

    async compareImageFindings({ baseDigest, digest }, call) {
      const { scope: repo } = requireScope(call)
      requireValid(checkDigest(baseDigest, 'base_digest'), checkDigest(digest))
      await requireRepo(db, repo)
      const before = await readAll(db, repo, baseDigest)
      const after = await readAll(db, repo, digest)
      return create(ImageFindingsDifferenceSchema, {
        ...compareFindings(before.findings, after.findings),
        pending: [...new Set([...before.pending, ...after.pending])].sort((a, b) => a - b),
      })
    },

    async getImageReport({ reference, platform, format }, call) {
      const { scope: repo } = requireScope(call)
      switch (format) {
        case ReportFormat.SARIF:
        case ReportFormat.CYCLONEDX: {
          const row = await reader.requireContents({ repo, reference, platform })
          const text = await writeImageReport({ db, clock }, row, addresses.registryHost, format)
          return create(ImageReportSchema, { digest: row.digest, ...text })
        }
        default:
          throw invalidArgument('format', 'must be a format of reports')
      }
    },
  })
}

/** Images of a vulnerability. */
export function affectedImagesService({ db, pageTokens }: Pick<Store, 'db' | 'pageTokens'>) {
  return implement(AffectedImagesService, {
    async listAffectedImages(request, call) {
      const { scope } = requireScope(call)
      const { vulnerability, pageSize, pageToken } = request
      const states = stateNames(request.states)
      requirePageSize(pageSize)
      if (vulnerability === '') throw invalidArgument('vulnerability', 'must be set')
      requireValid(checkLine(vulnerability, 'vulnerability'))
      const listKey = JSON.stringify([...callerBinding(call), scope, vulnerability, states])
      const after = readCursor(pageTokens, pageToken, listKey)?.after as AffectedImageCursor | undefined
      const size = effectivePageSize(pageSize)
      const isPending = await isMatchingPending(db, rootOf(scope))
      const query = { scope, vulnerability, states, after, size: size + 1 }
      const { images, cursorAfter } = await readAffectedImages(db, query)
      const page = images.slice(0, size)
      const tagsOf = await readImageTags(db, rootOf(scope), page)
      const last = page.at(-1)
      return create(ListAffectedImagesResponseSchema, {
        affectedImages: page.map((row) =>
          create(AffectedImageSchema, {
            repoUid: row.repo,
            digest: row.digest,
            tags: tagsOf(row),
            finding: toFinding(row),
          }),
        ),
        nextPageToken:
          images.length <= size || last === undefined
            ? ''
            : pageTokens.issue({ after: cursorAfter(last), skip: 0, skipped: 0 }, listKey),
        matched: !isPending,
      })
    },
  })
}

/** Without a catalog nothing is known of its kind, which is not the same as none. */
function requireCatalog(
  repo: string,
  catalogs: readonly Catalog[],
  field: string,
  format: Catalog['format'] | undefined,
): void {
  if (format === undefined || catalogs.some((catalog) => catalog.format === format)) return
  throw failedPrecondition(
    'CATALOG_MISSING',
    `${field} needs a catalog of the format ${format}, which the organization has not imported`,
    repo,
  )
}

function orderOf(text: string): FindingOrder {
  if (text === '') return 'vulnerability'
  const order = findingOrders.find((known) => known === text)
  if (order === undefined) throw invalidArgument('order_by', `must be one of ${findingOrders.join(', ')}`)
  return order
}

/** Returns the digest of a tag. Throws NOT_FOUND if the repo does not have it. */
async function readTag(db: Db, repo: string, name: string): Promise<string> {
  const row = await db.kysely
    .selectFrom('tags')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('name', '=', name)
    .executeTakeFirst()
  if (row === undefined || row.digest === '') throw notFound(MANIFEST_TYPE, `${repo}:${name}`)
  return row.digest
}

async function requireContents(db: Db, repo: string, digest: string): Promise<ImageContentsIds> {
  const contents = await readImageContents(db, repo, digest)
  if (contents === undefined) throw notFound(MANIFEST_TYPE, `${repo}@${digest}`)
  return contents
}

/** Returns all findings of an image. */
async function readAll(
  db: Db,
  repo: string,
  digest: string,
): Promise<{ readonly findings: readonly Finding[]; readonly pending: readonly PendingWork[] }> {
  const { findingsComparedMax: max } = limits
  const contents = await requireContents(db, repo, digest)
  const { ids, state } = contents
  // Without its packages, an image would look as if all vulnerabilities of the other were fixed in it.
  if (state !== 'read') throw contentsUnknown({ repo, digest, ...contents })
  const pending = await readPendingWork(db, rootOf(repo), contents)
  requireMatched(pending, repo, digest)
  const rows = await readFindings(db, rootOf(repo), ids, {}, { size: max + 1 })
  if (rows.length > max) throw quotaExceeded(repo, `has more than ${max} findings in ${digest}`)
  return { findings: rows.map(toFinding), pending }
}
