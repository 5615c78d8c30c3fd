import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import type { Output, View } from '@berth/cli/output/output.ts'
import { formatSize } from '@berth/cli/output/sizes.ts'
import { parseDurationSeconds } from '@berth/contract/durations.ts'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import { ballastOf, type Installation } from '../../installation/installation.ts'
import { type GcKind, type GcOrganizationReport, type GcReport, gcKinds } from '../../registry/gc/run.ts'
import {
  collectRecorded,
  collectUnderLease,
  type GcRunOptions,
  leaseGarbageCollection,
} from '../../registry/runs/garbage-collection-run.ts'
import { dryRunOption, jsonOption } from '../options.ts'
import { interruptSignal } from '../progress.ts'
import { readConfigOrExit, withBlobStore } from '../with-installation.ts'

/** `berth admin collect`: runs the garbage collection that the server runs daily. */
export const collectCommand: CommandDeclaration = {
  name: 'collect',
  summary: 'Garbage-collect unreferenced blobs and uploads',
  options: [
    dryRunOption,
    {
      flags: '--grace <duration>',
      summary: 'minimum age of what is deleted (default: BERTH_COLLECTION_GRACE, or 24h)',
    },
    {
      flags: '--force',
      summary: 'delete blobs that the database does not know even if they are the majority',
    },
    jsonOption,
  ],
  notes: `
The server may be running; it collects garbage itself every BERTH_COLLECTION_INTERVAL. Blobs that a manifest references
are never deleted. With a grace of less than one hour, running pushes can lose blobs before their manifest is pushed; the
client gets an error and must push again.`,
  examples: ['berth admin collect --dry-run', 'berth admin collect --grace 48h --json'],
  run: runCollect,
}

async function runCollect(invocation: Invocation): Promise<void> {
  const { output } = invocation
  const dryRun = invocation.flag('dryRun')
  const config = readConfigOrExit()
  await withBlobStore(config, async (installation, blobs) => {
    const graceMs = parseGrace(invocation.optionIfSet('grace')) ?? config.gcGraceMs
    const run = {
      store: installation.store,
      blobs,
      ballast: ballastOf(config),
      graceMs,
      dryRun,
      requireKnownStore: !invocation.flag('force'),
      onProgress: ({ step, seen }: { step: GcKind; seen: number }) =>
        output.progress(`${steps[step]}: ${seen} checked`),
      onBackupRunning: () =>
        process.stderr.write(
          'berth: a backup is running: stored blobs were not deleted; the next garbage collection deletes them\n',
        ),
      actor: 'system',
      onError: (error: unknown) => void process.stderr.write(`berth: ${String(error)}\n`),
      signal: interruptSignal(),
    } satisfies GcRunOptions
    const report = await (dryRun ? collectRecorded(run) : collectExclusively(run))
    output.progress('')
    await printReport(output, await withNames(installation, report), { dryRun, graceMs })
  })
}

const SECOND_MS = 1000

function parseGrace(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const found = parseDurationSeconds(text)
  if (found === undefined)
    throw new UsageError(`--grace: ${JSON.stringify(text)} must be a duration such as 0s, 90m or 48h`)
  return found * SECOND_MS
}

const steps: Readonly<Record<GcKind, string>> = {
  orphans: 'rows of deleted resources',
  links: 'blobs of repos',
  blobs: 'blobs',
  uploads: 'uploads',
  strays: 'stored files',
}

/** Runs garbage collection under the lease that allows one process at a time. */
async function collectExclusively(run: GcRunOptions): Promise<GcReport> {
  const lease = await leaseGarbageCollection(run)
  if (lease === undefined)
    throw new SetupError('another process is collecting garbage; run the command again when it has finished')
  return collectUnderLease(run, lease)
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
  orphans: 'rows of deleted resources',
  links: 'blobs of repos that no manifest references',
  blobs: 'stored blobs that no repo has',
  uploads: 'expired uploads',
  strays: 'stored files that the database does not know',
}

interface KindRow {
  readonly kind: GcKind
  readonly count: number
  readonly bytes: number
}

const kindView = (dryRun: boolean): View<KindRow> => ({
  columns: [
    { title: dryRun ? 'WOULD DELETE' : 'DELETED', kind: 'name', value: ({ kind }) => kind },
    { title: 'COUNT', value: ({ count }) => String(count) },
    { title: 'SIZE', value: ({ bytes }) => formatSize(bytes) },
    { title: 'DESCRIPTION', value: ({ kind }) => kindDescriptions[kind] },
  ],
  id: ({ kind }) => kind,
})

const organizationView: View<NamedReport['organizations'][number]> = {
  columns: [
    { title: 'ORGANIZATION', kind: 'name', value: ({ name }) => name },
    { title: 'UID', value: ({ uid }) => uid },
    { title: 'LINKS', value: ({ links }) => String(links.count) },
    { title: 'SIZE', value: ({ links }) => formatSize(links.bytes) },
    { title: 'UPLOADS', value: ({ uploads }) => String(uploads.count) },
  ],
}

async function printReport(
  output: Output,
  report: NamedReport,
  { dryRun, graceMs }: { readonly dryRun: boolean; readonly graceMs: number },
): Promise<void> {
  const rows = gcKinds.map((kind): KindRow => ({ kind, ...report[kind] }))
  await output.report({ dryRun, graceSeconds: graceMs / SECOND_MS, ...report }, rows, kindView(dryRun))
  if (!output.isForPeople || report.organizations.length === 0) return
  output.line('')
  await output.list(report.organizations, organizationView)
}
