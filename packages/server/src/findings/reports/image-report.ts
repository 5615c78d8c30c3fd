import { decompressOsvExtension } from '@berth/advisory-formats/osv/osv-extension.ts'
import { type PendingWork, ReportFormat } from '@berth/contract/gen/berth/vulnerabilities/v1/findings_pb.js'
import {
  type Advisory,
  Severity_Type,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { ReportedCvss } from '@berth/image-contents/reports/scanner-report.ts'
import { writeCycloneDxReport } from '@berth/image-contents/writers/write-cyclonedx-report.ts'
import { writeSarif } from '@berth/image-contents/writers/write-sarif.ts'
import type {
  FindingSeverity,
  FindingState,
  WrittenFinding,
  WrittenReport,
} from '@berth/image-contents/writers/written-report.ts'
import type { JsonValue } from '@bufbuild/protobuf'
import { addSeverities } from '../../advisories/storage/severities.ts'
import { type AdvisoryContentRow, toAdvisory } from '../../advisories/storage/stored-advisory.ts'
import { quotaExceeded } from '../../api/errors.ts'
import { pathOf, rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { version } from '../../config/version.ts'
import { contentsUnknown } from '../../contents/services/image-reference.ts'
import { readStoredContents } from '../../contents/storing/stored-contents.ts'
import { readRowsByUid } from '../../storage/rows-by-uid.ts'
import type { AdvisoryRow, ManifestContentsRow } from '../../storage/schema/tables.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { epssOf, type FindingRow, readExploitation } from '../services/finding-messages.ts'
import { readAdvisoriesTime, readCoverage, readFindings, toContentsIds } from '../storage/image-findings.ts'
import { readPendingWork, requireMatched } from '../storage/pending-work.ts'

/** Reports of the vulnerabilities of an image, for other tools. */

export type WrittenFormat = ReportFormat.SARIF | ReportFormat.CYCLONEDX

interface ReportText {
  /** With its version. */
  readonly format: string
  readonly report: string
  readonly pending: PendingWork[]
}

type ReportStore = Pick<Store, 'db' | 'clock'>

/** Writes the report of an image, and throws as `readImageReport`. */
export async function writeImageReport(
  store: ReportStore,
  row: ManifestContentsRow,
  registryHost: string,
  format: WrittenFormat,
): Promise<ReportText> {
  const report = await readImageReport(store, row, registryHost)
  const pending = [...report.pending]
  return format === ReportFormat.SARIF
    ? { format: 'sarif-2.1.0', report: writeSarif(report), pending }
    : { format: 'cyclonedx-1.6', report: writeCycloneDxReport(report), pending }
}

/**
 * Reads the report of an image whose contents are known. Throws FAILED_PRECONDITION, type IMAGE_NOT_MATCHED, before its packages are
 * matched for the first time: its report would look clean. `pending`: what may change it.
 */
export async function readImageReport(
  { db, clock }: ReportStore,
  row: ManifestContentsRow,
  registryHost: string,
): Promise<WrittenReport & { readonly pending: readonly PendingWork[] }> {
  const { digest, repo } = row
  const root = rootOf(repo)
  const ids = [Number(row.id)]
  const { findingsComparedMax: max } = limits
  // Before the findings: what is matched now has its findings in every later read.
  const pending = await readPendingWork(db, root, toContentsIds(row))
  requireMatched(pending, repo, digest)
  const coverage = await readCoverage(db, root, ids)
  const [repository, contents, rows, advisoriesMs] = await Promise.all([
    readRepository(db, registryHost, repo),
    readStoredContents(db.kysely, row),
    readFindings(db, root, ids, {}, { size: max + 1 }),
    readAdvisoriesTime(db, root),
  ])
  if (contents === undefined) throw contentsUnknown(row)
  if (rows.length > max) throw quotaExceeded(repo, `has more than ${max} findings in ${digest}`)
  const texts = await readAdvisoryTexts(db, root, [...new Set(rows.map(({ advisory }) => advisory))])
  return {
    image: { repository, digest, created: new Date(clock()), tool: { name: 'berth', version: version() } },
    contents,
    findings: rows.map((found) => toWrittenFinding(found, texts.get(found.advisory))),
    databaseBuilt: advisoriesMs > 0 ? new Date(advisoriesMs) : undefined,
    uncovered: coverage.filter(({ isCovered }) => !isCovered),
    isCurrent: pending.length === 0,
    pending,
  }
}

/** Returns the address of a repo, by the current names. */
async function readRepository(db: ReportStore['db'], registryHost: string, repo: string): Promise<string> {
  const uids = pathOf(repo)
  const [groups, repos] = await Promise.all([
    readRowsByUid(db.kysely, 'groups', ['name'], uids.slice(0, -1)),
    readRowsByUid(db.kysely, 'repos', ['name'], [repo]),
  ])
  const names = uids.map((uid) => (groups.get(uid) ?? repos.get(uid))?.name ?? uid)
  return [registryHost, ...names].join('/')
}

/** What an advisory says about its vulnerability. */
type AdvisoryTexts = Pick<WrittenFinding, 'cvss' | 'description' | 'details' | 'relatedUrls'>

const noTexts: AdvisoryTexts = { cvss: [], description: '', details: '', relatedUrls: [] }

function toWrittenFinding(row: FindingRow, texts: AdvisoryTexts = noTexts): WrittenFinding {
  return {
    id: row.vulnerability,
    aliases: row.aliases === '' ? [] : row.aliases.split(' '),
    purl: row.purl,
    version: row.version,
    state: row.state as FindingState,
    severity: row.severity as FindingSeverity,
    score: Number(row.score) < 0 ? undefined : Number(row.score) / 10,
    fixedVersion: row.fixed_version,
    cwes: row.cwes === '' ? [] : row.cwes.split(' '),
    isKnownExploited: readExploitation(row.exploitation) !== undefined,
    epss: epssOf(row),
    willNotFix: false,
    justification: row.justification,
    ...texts,
  }
}

type TextsRow = AdvisoryContentRow & Pick<AdvisoryRow, 'osv'>

/** Advisories in one statement. */
const BATCH = 200

async function readAdvisoryTexts(
  db: ReportStore['db'],
  root: string,
  uids: readonly string[],
): Promise<ReadonlyMap<string, AdvisoryTexts>> {
  const texts = new Map<string, AdvisoryTexts>()
  for (let at = 0; at < uids.length; at += BATCH) {
    const sql = sqlText(db.engine)
    const text = `select uid, advisory_id, artifact_name, component_name, content, created_ms, updated_ms, osv from advisories
      where root = ${sql.bind(root)} and uid in (${sql.bindAll(uids.slice(at, at + BATCH))})`
    const read = (await runText<TextsRow>(db, text, sql)).map((row) => ({ row, advisory: toAdvisory(row) }))
    await addSeverities(
      db,
      read.map(({ advisory }) => advisory),
    )
    for (const { row, advisory } of read) texts.set(row.uid, textsOf(row, advisory))
  }
  return texts
}

/** Versions of CVSS whose vectors do not name theirs. */
const cvssVersions: Readonly<Record<number, string>> = { [Severity_Type.CVSS_V2]: '2.0' }

function textsOf({ osv }: TextsRow, { severities }: Advisory): AdvisoryTexts {
  const { summary, details, references } = decompressOsvExtension(osv)?.record ?? {}
  return {
    cvss: severities.flatMap(({ type, score }): ReportedCvss[] => {
      const stated = cvssVersions[type] ?? /^CVSS:([\d.]+)\//.exec(score)?.[1]
      return stated === undefined ? [] : [{ score, version: stated }]
    }),
    description: (textOf(summary).split('\n')[0] ?? '').trim(),
    details: textOf(details),
    relatedUrls: (Array.isArray(references) ? references : []).flatMap((reference) => {
      const url = isObject(reference) ? textOf(reference['url']) : ''
      return /^https?:\/\//.test(url) ? [url] : []
    }),
  }
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

const isObject = (value: JsonValue): value is { readonly [key: string]: JsonValue } & object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
