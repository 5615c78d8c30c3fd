import type { Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import {
  RawVulnReportSchema,
  Scanner_Name,
  VulnCountReportListSchema,
  Vulnerabilities,
  type VulnReport,
  VulnReportListSchema,
} from '@berth/contract/gen/chainguard/platform/registry/vuln_reports_pb.js'
import { writeCycloneDxReport } from '@berth/image-contents/writers/write-cyclonedx-report.ts'
import { create } from '@bufbuild/protobuf'
import { ApiError, Code, invalidArgument, notFound } from '../../api/errors.ts'
import { checkLine, requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import type { Addresses } from '../../config/addresses.ts'
import { limits } from '../../config/limits.ts'
import type { ContentsReader } from '../../contents/services/contents-reader.ts'
import { readGivenDocument } from '../../contents/services/image-sbom.ts'
import { readReportedVulnerabilities } from '../../contents/storing/stored-contents.ts'
import { readImageReport } from '../../findings/reports/image-report.ts'
import { readAdvisoriesTime } from '../../findings/storage/image-findings.ts'
import { readReportSummaries, readReports } from '../../findings/storage/scanner-reports.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { type Call, type Handlers, implement } from '../../pipeline/call.ts'
import type { BlobStore } from '../../registry/blobs/blob-store.ts'
import { checkDigest, checkTagName } from '../../registry/resources/tag-names.ts'
import { instantMs } from '../../registry/resources/tags.ts'
import type { ManifestContentsRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import {
  scannerName,
  toAttachedReport,
  toOwnReport,
  toOwnScanner,
  toScanner,
  toTenantReport,
} from './report-messages.ts'
import { findImages, tooLong } from './reported-images.ts'
import { readCountReports } from './vulnerability-counts.ts'

/** Vulnerabilities of images in version 1: what this server finds, and reports of scanners that are attached. */

const REPORT_TYPE = 'registry.chainguard.dev/VulnReport'

type ReportStore = Pick<Store, 'db' | 'clock'>

export function reportHandlers(
  store: ReportStore,
  contents: Pick<ContentsReader, 'requireContents'>,
  { registryHost }: Pick<Addresses, 'registryHost'>,
): Required<Pick<Handlers<typeof Registry>, 'getVulnReport'>> {
  return {
    async getVulnReport({ digest }, call) {
      requireValid(checkDigest(digest))
      const image = await contents.requireContents({
        repo: requireScope(call).scope,
        reference: digest,
        platform: '',
      })
      return toTenantReport(await readImageReport(store, image, registryHost), Number(image.read_ms))
    },
  }
}

export interface VulnerabilitiesOptions {
  readonly addresses: Pick<Addresses, 'registryHost'>
  readonly blobs: Pick<BlobStore, 'read'>
}

export function vulnerabilitiesService(
  store: ReportStore,
  { addresses: { registryHost }, blobs }: VulnerabilitiesOptions,
) {
  const { db } = store

  /** The report of this server changes when the image is read or the advisories change. */
  const ownCreatedMs = async ({ root, read_ms }: ManifestContentsRow) =>
    Math.max(Number(read_ms), await readAdvisoriesTime(db, root))

  /** Undefined before the packages of the image are matched: the report would look clean. */
  const readOwnReport = async (image: ManifestContentsRow): Promise<VulnReport | undefined> => {
    try {
      const createdMs = await ownCreatedMs(image)
      return toOwnReport(await readImageReport(store, image, registryHost), createdMs)
    } catch (error) {
      if (error instanceof ApiError && error.code === Code.FAILED_PRECONDITION) return undefined
      throw error
    }
  }

  return implement(Vulnerabilities, {
    async listVulnReports({ repoId, digest, tag, scanner, createdSince }, call) {
      if (repoId === '' && digest === '') throw invalidArgument('repo_id', 'or digest must be set')
      requireValid(
        checkLine(repoId, 'repo_id'),
        digest === '' ? undefined : checkDigest(digest),
        tag === '' ? undefined : checkTagName(tag),
      )
      const wanted = scanner?.name ?? Scanner_Name.UNKNOWN
      const isWanted = (name: Scanner_Name) => wanted === Scanner_Name.UNKNOWN || name === wanted
      const sinceMs = createdSince === undefined ? 0 : instantMs(createdSince, 'created_since')
      const { v1ReportImagesMax: imagesMax, v1ReportedVulnerabilitiesMax: max } = limits
      const images = await findImages(db, scopesOf(call), { repo: repoId, digest, tag }, imagesMax + 1)
      if (images.length > imagesMax) tooLong(`${imagesMax} images`)
      const items: VulnReport[] = []
      let count = 0
      const add = (report: VulnReport) => {
        count += report.vulnerabilities.length
        if (count > max) tooLong(`${max} vulnerabilities`)
        items.push(report)
      }
      for (const image of images) {
        if (isWanted(Scanner_Name.BERTH) && (await ownCreatedMs(image)) >= sinceMs) {
          const own = await readOwnReport(image)
          if (own !== undefined) add(own)
        }
        for (const row of await readReports(db, image))
          if (isWanted(scannerName(row.scanner)) && Number(row.created_ms) >= sinceMs)
            add(toAttachedReport(image.digest, row, await readReportedVulnerabilities(row)))
      }
      return create(VulnReportListSchema, { items })
    },

    async getRawVulnReport({ digest, scanner, createdAt }, call) {
      requireValid(checkDigest(digest))
      const createdMs = createdAt === undefined ? undefined : instantMs(createdAt, 'created_at')
      const isAt = (ms: number) => createdMs === undefined || ms === createdMs
      const images = await findImages(db, scopesOf(call), { repo: '', digest, tag: '' }, 1)
      for (const image of images) {
        if (scanner === Scanner_Name.UNKNOWN || scanner === Scanner_Name.BERTH) {
          const ownMs = await ownCreatedMs(image)
          if (!isAt(ownMs)) continue
          const report = await readImageReport(store, image, registryHost)
          return create(RawVulnReportSchema, {
            digest: image.digest,
            scanner: toOwnScanner(report),
            createdAt: timestampOf(ownMs),
            rawReport: writeCycloneDxReport(report),
          })
        }
        const rows = await readReportSummaries(db, image)
        const row = rows.find((one) => scannerName(one.scanner) === scanner && isAt(Number(one.created_ms)))
        if (row === undefined) continue
        const document = await db.kysely
          .selectFrom('manifest_documents')
          .selectAll()
          .where('root', '=', row.root)
          .where('contents', '=', row.contents)
          .where('position', '=', row.position)
          .executeTakeFirstOrThrow()
        return create(RawVulnReportSchema, {
          digest: image.digest,
          scanner: toScanner(row),
          createdAt: timestampOf(Number(row.created_ms)),
          rawReport: await readGivenDocument({ db, blobs }, image.repo, document, REPORT_TYPE),
        })
      }
      throw notFound(REPORT_TYPE, digest)
    },

    async listVulnCountReports(request, call) {
      return create(VulnCountReportListSchema, {
        items: await readCountReports(db, scopesOf(call), request, false),
      })
    },

    async listCumulativeVulnCountReports(request, call) {
      return create(VulnCountReportListSchema, {
        items: await readCountReports(db, scopesOf(call), request, true),
      })
    },
  })
}

function scopesOf({ authorization }: Call): readonly string[] {
  return authorization?.visible?.scopes ?? []
}
