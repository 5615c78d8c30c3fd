import type { Command } from 'commander'
import { secondsIn } from '../core/durations.ts'
import { ballastOf, type Installation, SetupError, UsageError } from '../installation.ts'
import { collect } from '../oci/collection/collect.ts'
import {
  type CollectedKind,
  type CollectionReport,
  collectedKinds,
  type OrganizationReport,
} from '../oci/collection/run.ts'
import { takeWork } from '../oci/run-rows.ts'
import type { Column } from './client/output.ts'
import { sizeText } from './client/sizes.ts'
import { configOrExit, withBlobStore } from './operator.ts'
import { print, table } from './operator-output.ts'
import { progressLine, untilInterrupted } from './operator-progress.ts'

/** `berth admin collect`: what the server does by itself every day, now, or only told of. */
export function addCollectCommand(admin: Command): void {
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
      const config = configOrExit()
      return withBlobStore(config, async (installation, blobs) => {
        const graceMs = graceIn(grace) ?? config.collectionGraceMs
        const tell = progressLine()
        const run = {
          store: installation.store,
          blobs,
          graceMs,
          dryRun,
          mistrust: !force,
          onProgress: ({ step, seen }: { step: CollectedKind; seen: number }) =>
            tell(`${steps[step]}: ${seen} looked at`),
          onHeld: () =>
            process.stderr.write(
              'berth: a backup is running, so stored bytes were not removed; the next collection removes them\n',
            ),
        }
        const signal = untilInterrupted()
        const report = await (dryRun
          ? collect({ ...run, signal })
          : ballastOf(config).run(() => collectAlone(run, signal)))
        tell('')
        const named = await withNames(installation, report)
        print(json, { dryRun, graceSeconds: graceMs / SECOND_MS, ...named }, textOf(named, dryRun))
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

function graceIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const found = secondsIn(text)
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

const steps: Readonly<Record<CollectedKind, string>> = {
  orphans: 'rows of deleted resources',
  links: 'links of repos',
  blobs: 'blobs',
  uploads: 'uploads',
  strays: 'stored files',
}

/** One process at a time. */
async function collectAlone(
  run: Omit<Parameters<typeof collect>[0], 'signal'>,
  signal: AbortSignal,
): Promise<CollectionReport> {
  const { db, clock } = run.store
  const onError = (error: unknown) => process.stderr.write(`berth: ${String(error)}\n`)
  const work = await takeWork({ db, clock, onError }, 'collection')
  if (work === undefined)
    throw new SetupError('another process collects at the moment; try again when it is done')
  try {
    const report = await collect({ ...run, signal: AbortSignal.any([signal, work.signal]) })
    await work.giveBack({ succeeded_ms: clock() })
    return report
  } catch (error) {
    await work.giveBack()
    throw error
  }
}

interface Named extends Omit<CollectionReport, 'organizations'> {
  readonly organizations: readonly (OrganizationReport & { readonly name: string })[]
}

async function withNames({ store }: Installation, report: CollectionReport): Promise<Named> {
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

const meanings: Readonly<Record<CollectedKind, string>> = {
  orphans: 'resources that are deleted and left rows in other tables',
  links: 'in repos, without a manifest that needs them',
  blobs: 'stored bytes that no repo has any more',
  uploads: 'that are over',
  strays: 'stored bytes that the database does not know',
}

function textOf(report: Named, dryRun: boolean): string {
  const rows = collectedKinds.map((kind) => ({ kind, ...report[kind] }))
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { title: dryRun ? 'WOULD GO' : 'GONE', kind: 'name', value: ({ kind }) => kind },
    { title: 'NUMBER', value: ({ count }) => String(count) },
    { title: 'BYTES', value: ({ bytes }) => sizeText(bytes) },
    { title: 'WHAT', value: ({ kind }) => meanings[kind] },
  ]
  const organizations: readonly Column<Named['organizations'][number]>[] = [
    { title: 'ORGANIZATION', kind: 'name', value: ({ name }) => name },
    { title: 'UID', value: ({ uid }) => uid },
    { title: 'LINKS', value: ({ links }) => String(links.count) },
    { title: 'BYTES', value: ({ links }) => sizeText(links.bytes) },
    { title: 'UPLOADS', value: ({ uploads }) => String(uploads.count) },
  ]
  const all = table(rows, columns, '')
  return report.organizations.length === 0 ? all : `${all}\n${table(report.organizations, organizations, '')}`
}
