import type { Column } from '@berth/cli/output/output.ts'
import { formatSize } from '@berth/cli/output/sizes.ts'
import { parseDurationSeconds } from '@berth/contract/durations.ts'
import type { Command } from 'commander'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import { ballastOf, type Installation } from '../../installation/installation.ts'
import { collectGarbage } from '../../registry/gc/garbage-collection.ts'
import { type GcKind, type GcOrganizationReport, type GcReport, gcKinds } from '../../registry/gc/run.ts'
import { acquireJob } from '../../storage/jobs/job-leases.ts'
import { printResult, renderTable } from './output.ts'
import { createProgressLine, interruptSignal } from './progress.ts'
import { readConfigOrExit, withBlobStore } from './with-installation.ts'

/** `berth admin collect`: what the server does by itself every day, now, or only told of. */
export function addGarbageCollectionCommand(admin: Command): void {
  admin
    .command('collect')
    .description('take from the registry what nobody needs: blobs without manifests, uploads that are over')
    .option('--dry-run', 'tell what would go, and take nothing', false)
    .option('--grace <duration>', 'what is younger stays (default BERTH_COLLECTION_GRACE, or 24h)')
    .option(
      '--force',
      'take stored bytes that the database does not know where they are most of them, too',
      false,
    )
    .option('--json', 'print JSON', false)
    .addHelpText('after', help)
    .action(({ dryRun, grace, force, json }: Options) => {
      const config = readConfigOrExit()
      return withBlobStore(config, async (installation, blobs) => {
        const graceMs = parseGrace(grace) ?? config.gcGraceMs
        const reportProgress = createProgressLine()
        const run = {
          store: installation.store,
          blobs,
          graceMs,
          dryRun,
          requireKnownStore: !force,
          onProgress: ({ step, seen }: { step: GcKind; seen: number }) =>
            reportProgress(`${steps[step]}: ${seen} looked at`),
          onHeld: () =>
            process.stderr.write(
              'berth: a backup is running, so stored bytes were not removed; the next collection removes them\n',
            ),
        }
        const signal = interruptSignal()
        const report = await (dryRun
          ? collectGarbage({ ...run, signal })
          : ballastOf(config).run(() => collectExclusively(run, signal)))
        reportProgress('')
        const named = await withNames(installation, report)
        printResult(
          json,
          { dryRun, graceSeconds: graceMs / SECOND_MS, ...named },
          formatReport(named, dryRun),
        )
      })
    })
}

interface Options {
  readonly dryRun: boolean
  readonly grace?: string
  readonly force: boolean
  readonly json: boolean
}

const SECOND_MS = 1000

function parseGrace(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const found = parseDurationSeconds(text)
  if (found === undefined)
    throw new UsageError(`--grace: ${JSON.stringify(text)} must be a duration such as 0s, 90m or 48h`)
  return found * SECOND_MS
}

const help = `
It may run beside the server, which does the same by itself (BERTH_COLLECTION_INTERVAL). A manifest never loses a blob. With a grace
of less than an hour, pushes that are under way may lose blobs whose manifest has not come yet: their clients are told, and push again.

Examples:
  berth admin collect --dry-run
  berth admin collect --grace 48h --json
`

const steps: Readonly<Record<GcKind, string>> = {
  orphans: 'rows of deleted resources',
  links: 'links of repos',
  blobs: 'blobs',
  uploads: 'uploads',
  strays: 'stored files',
}

/** One process at a time. */
async function collectExclusively(
  run: Omit<Parameters<typeof collectGarbage>[0], 'signal'>,
  signal: AbortSignal,
): Promise<GcReport> {
  const { db, clock } = run.store
  const onError = (error: unknown) => process.stderr.write(`berth: ${String(error)}\n`)
  const work = await acquireJob({ db, clock, onError }, 'collection')
  if (work === undefined)
    throw new SetupError('another process collects at the moment; try again when it is done')
  try {
    const report = await collectGarbage({ ...run, signal: AbortSignal.any([signal, work.signal]) })
    await work.release({ succeeded_ms: clock() })
    return report
  } catch (error) {
    await work.release()
    throw error
  }
}

interface NamedReport extends Omit<GcReport, 'organizations'> {
  readonly organizations: readonly (GcOrganizationReport & { readonly name: string })[]
}

async function withNames({ store }: Installation, report: GcReport): Promise<NamedReport> {
  const organizations = []
  for (const organization of report.organizations) {
    const row = await store.db.kysely
      .selectFrom('groups')
      .select('name')
      .where('root', '=', organization.uid)
      .where('uid', '=', organization.uid)
      .executeTakeFirst()
    organizations.push({ name: row?.name ?? '', ...organization })
  }
  return { ...report, organizations }
}

const kindDescriptions: Readonly<Record<GcKind, string>> = {
  orphans: 'resources that are deleted and left rows in other tables',
  links: 'in repos, without a manifest that needs them',
  blobs: 'stored bytes that no repo has any more',
  uploads: 'that are over',
  strays: 'stored bytes that the database does not know',
}

function formatReport(report: NamedReport, dryRun: boolean): string {
  const rows = gcKinds.map((kind) => ({ kind, ...report[kind] }))
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { title: dryRun ? 'WOULD GO' : 'GONE', kind: 'name', value: ({ kind }) => kind },
    { title: 'NUMBER', value: ({ count }) => String(count) },
    { title: 'BYTES', value: ({ bytes }) => formatSize(bytes) },
    { title: 'WHAT', value: ({ kind }) => kindDescriptions[kind] },
  ]
  const organizations: readonly Column<NamedReport['organizations'][number]>[] = [
    { title: 'ORGANIZATION', kind: 'name', value: ({ name }) => name },
    { title: 'UID', value: ({ uid }) => uid },
    { title: 'LINKS', value: ({ links }) => String(links.count) },
    { title: 'BYTES', value: ({ links }) => formatSize(links.bytes) },
    { title: 'UPLOADS', value: ({ uploads }) => String(uploads.count) },
  ]
  const all = renderTable(rows, columns, '')
  return report.organizations.length === 0
    ? all
    : `${all}\n${renderTable(report.organizations, organizations, '')}`
}
