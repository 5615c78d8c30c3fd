import { existsSync } from 'node:fs'
import type { Column } from '@berth/cli/output/output.ts'
import { formatSize } from '@berth/cli/output/sizes.ts'
import type { Command } from 'commander'
import { SetupError, UsageError } from '../../../config/setup-errors.ts'
import { version } from '../../../config/version.ts'
import type { Config } from '../../../installation/config.ts'
import { findMasterKey, openBlobStore, openDatabase } from '../../../installation/installation.ts'
import type { Db } from '../../../storage/db.ts'
import { createLog } from '../../../telemetry/log.ts'
import { backUp, requireBackupPossible, withBackupLease } from '../../backup/backup.ts'
import {
  chooseBackup,
  findDamagedBlobs,
  listBackedUpBlobs,
  type PruneReport,
  prune,
  verifyTables,
} from '../../backup/contents.ts'
import type { Destination } from '../../backup/destination.ts'
import type { BackupManifest } from '../../backup/manifest.ts'
import { openBackupRepository, type StoredBackup } from '../../backup/repository.ts'
import { printResult, renderTable } from '../output.ts'
import { createByteProgress, createProgressLine, interruptSignal } from '../progress.ts'
import { EXIT_DAMAGE_FOUND, readConfigOrExit, reportFailure } from '../with-installation.ts'
import {
  type PassphraseFlags,
  readPassphrase,
  type StoreFlags,
  storeHelp,
  withDestination,
  withPassphraseFlag,
  withStoreFlags,
} from './options.ts'

/** `berth admin backup`: back up an installation while it serves; list, verify and remove backups. */
export function addBackupCommands(admin: Command): void {
  const backup = admin
    .command('backup')
    .description('back up the database, the master key and the images, while the server runs')
    .argument('<destination>', 'directory or s3://BUCKET/PREFIX')
  withPassphraseFlag(backup)
    .option('--without-key', 'leave the master key out of the backup', false)
    .option('--keep <n>', 'afterwards remove all but the newest N backups')
  withStoreFlags(backup)
    .option('--json', 'print JSON', false)
    .addHelpText('after', backupHelp)
    .action((destination: string, flags: BackupFlags) => reportFailure(() => runBackup(destination, flags)))

  withStoreFlags(
    backup
      .command('list')
      .description('list the backups in a destination')
      .argument('<destination>', 'directory or s3://BUCKET/PREFIX'),
  )
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  berth admin backup list /srv/backups/berth\n')
    .action((destination: string, _: unknown, command: Command) =>
      reportFailure(() => runList(destination, flagsOf(command))),
    )

  withStoreFlags(
    backup
      .command('verify')
      .description('read a backup and compare everything in it with its checksums')
      .argument('<destination>', 'directory or s3://BUCKET/PREFIX')
      .argument('[backup]', 'id of the backup (default: the latest)'),
  )
    .option('--json', 'print JSON', false)
    .addHelpText('after', verifyHelp)
    .action((destination: string, id: string | undefined, _: unknown, command: Command) =>
      reportFailure(() => runVerify(destination, id, flagsOf(command))),
    )

  withStoreFlags(
    backup
      .command('prune')
      .description('remove old backups, and the images that only they need')
      .argument('<destination>', 'directory or s3://BUCKET/PREFIX')
      .option('--keep <n>', 'number of backups to keep, the newest ones (required)')
      .option('--dry-run', 'print what would be removed, and remove nothing', false),
  )
    .option('--json', 'print JSON', false)
    .addHelpText('after', pruneHelp)
    .action((destination: string, _: unknown, command: Command) =>
      reportFailure(() => runPrune(destination, flagsOf(command))),
    )
}

interface BackupFlags extends StoreFlags, PassphraseFlags {
  readonly withoutKey: boolean
  readonly keep?: string
  readonly json: boolean
}

interface SubcommandFlags extends StoreFlags {
  readonly keep?: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** Options that both commands have are parsed by the one above. */
function flagsOf(command: Command): SubcommandFlags {
  return command.optsWithGlobals<SubcommandFlags>()
}

const backupHelp = `${storeHelp}
The server may run, and garbage collection removes no images until the backup is done. Images are stored once for all backups of a
destination: a second backup copies only new ones. A backup that was interrupted does not count; run it again, and it copies what is missing.
Keep the passphrase in another place than the backups: without it, or a copy of the master key, secrets in a backup cannot be read.

Exit codes: 0 complete, ${EXIT_DAMAGE_FOUND} complete but for images that are missing or damaged in the installation, 1 it failed, 2 wrong usage,
3 the database could not be reached.

Examples:
  berth admin backup /srv/backups/berth --passphrase-file /etc/berth/passphrase --keep 14
  berth admin backup s3://backups/berth --s3-endpoint https://s3.example.com --json
  berth admin backup /srv/backups/berth --without-key
`

const verifyHelp = `
Exit codes: 0 it can be restored, ${EXIT_DAMAGE_FOUND} something is missing or damaged, 1 it failed.
Remove an image that is damaged from the destination: the next backup stores it anew.

Examples:
  berth admin backup verify /srv/backups/berth
  berth admin backup verify s3://backups/berth 20260131T020000Z-0a1b2c --json
`

const pruneHelp = `
Examples:
  berth admin backup prune /srv/backups/berth --keep 14 --dry-run
  berth admin backup prune s3://backups/berth --keep 14
`

async function runBackup(name: string, flags: BackupFlags): Promise<void> {
  const keep = flags.keep === undefined ? undefined : parseKeep(flags.keep)
  if (flags.withoutKey && flags.passphraseFile !== undefined)
    throw new UsageError('--without-key and --passphrase-file exclude each other')
  const config = readConfigOrExit()
  const log = createLog(config.logLevel)
  const open = { config, log, mustExist: false }
  await withDatabase(config, (db) =>
    withDestination(name, flags, open, async (destination) => {
      await requireBackupPossible(db)
      const key = flags.withoutKey ? undefined : await sealingKey(config, db, flags)
      const blobs = await openBlobStore(config, db, log)
      const line = createProgressLine()
      const progress = createByteProgress(line)
      const signal = interruptSignal()
      const startMs = performance.now()
      try {
        const manifest = await backUp({
          db,
          clock: Date.now,
          blobs,
          destination,
          version: version(),
          key,
          signal,
          onProgress: (at) =>
            at.step === 'tables' ? line(`table ${at.table}`) : progress(at.bytes, at.totalBytes),
          onError: reportError,
        })
        const seconds = Math.round((performance.now() - startMs) / 100) / 10
        const pruned =
          keep === undefined
            ? undefined
            : await pruneExclusively(db, destination, { keep, dryRun: false, signal })
        line('')
        const result = { ...summarizeManifest(manifest), seconds, ...(pruned && { pruned }) }
        printResult(flags.json, result, backupText(manifest, seconds, pruned))
        if (manifest.damaged.length > 0) process.exitCode = EXIT_DAMAGE_FOUND
      } finally {
        line('')
        blobs.close()
      }
    }),
  )
}

async function sealingKey(config: Config, db: Db, flags: PassphraseFlags) {
  const masterKey = await findMasterKey(config, db)
  if (masterKey === undefined) return undefined
  const otherwise = ', or leave it out with --without-key'
  return { masterKey, passphrase: await readPassphrase(flags, { isNew: true, hint: otherwise }) }
}

/** While no backup runs, which relies on images that are there. */
function pruneExclusively(
  db: Db,
  destination: Destination,
  options: Parameters<typeof prune>[1],
): Promise<PruneReport> {
  return withBackupLease({ db, clock: Date.now, onError: reportError }, async () =>
    prune(await openBackupRepository(destination), options),
  )
}

/** Without a change of the schema: an installation is backed up before its upgrade, too. */
async function withDatabase(config: Config, work: (db: Db) => Promise<void>): Promise<void> {
  if (config.databaseUrl === undefined && !existsSync(config.dataDir))
    throw new SetupError(
      `there is no data directory ${config.dataDir}; set BERTH_DATA_DIR to that of the server`,
    )
  const db = await openDatabase(config, createLog(config.logLevel))
  try {
    await work(db.background)
  } finally {
    await db.close()
  }
}

function reportError(error: unknown): void {
  process.stderr.write(`berth: ${String(error)}\n`)
}

function parseKeep(text: string): number {
  const keep = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined
  if (keep === undefined) throw new UsageError(`--keep: ${JSON.stringify(text)} must be a number from 1`)
  return keep
}

async function runList(name: string, flags: SubcommandFlags): Promise<void> {
  const config = readConfigOrExit()
  await withDestination(
    name,
    flags,
    { config, log: createLog(config.logLevel), mustExist: true },
    async (destination) => {
      const backups = (await (await openBackupRepository(destination)).list()).map(toBackupRow)
      printResult(
        flags.json === true,
        { backups },
        renderTable(backups, columns, `${destination.name} contains no backups`),
      )
    },
  )
}

function toBackupRow({ id, manifest }: StoredBackup) {
  return manifest === undefined
    ? { id, complete: false as const }
    : { complete: true as const, ...summarizeManifest(manifest) }
}

function summarizeManifest({
  format: _,
  masterKeyCheck: __,
  masterKey,
  tables,
  ...manifest
}: BackupManifest) {
  const bytes = tables.reduce((sum, one) => sum + one.bytes, 0)
  const rows = tables.reduce((sum, one) => sum + one.rows, 0)
  return { ...manifest, masterKey: masterKey !== undefined, tables: tables.length, database: { rows, bytes } }
}

const columns: readonly Column<ReturnType<typeof toBackupRow>>[] = [
  { title: 'BACKUP', kind: 'name', value: ({ id }) => id },
  { title: 'TIME', kind: 'time', value: (row) => (row.complete ? row.snapshotTime : '') },
  { title: 'VERSION', value: (row) => (row.complete ? row.version : 'not complete') },
  { title: 'DATABASE', value: (row) => (row.complete ? formatSize(row.database.bytes) : '') },
  { title: 'IMAGES', value: (row) => (row.complete ? formatSize(row.blobs.bytes) : '') },
  { title: 'ADDED', value: (row) => (row.complete ? formatSize(row.blobs.added.bytes) : '') },
  { title: 'KEY', value: (row) => (row.complete ? (row.masterKey ? 'included' : 'left out') : '') },
  { title: 'DAMAGED', value: (row) => (row.complete ? String(row.damaged.length) : '') },
]

async function runVerify(name: string, id: string | undefined, flags: SubcommandFlags): Promise<void> {
  const config = readConfigOrExit()
  await withDestination(
    name,
    flags,
    { config, log: createLog(config.logLevel), mustExist: true },
    async (destination) => {
      const line = createProgressLine()
      const reading = { signal: interruptSignal(), onProgress: createByteProgress(line) }
      try {
        const repository = await openBackupRepository(destination)
        const manifest = await chooseBackup(repository, id)
        await verifyTables(repository, manifest, reading)
        const blobs = await listBackedUpBlobs(repository, manifest)
        const damaged = (await findDamagedBlobs(repository, blobs, reading)).map(({ file }) => file)
        line('')
        const text = damaged.map((file) => `damaged  ${file}\n`).join('')
        printResult(
          flags.json === true,
          { backup: manifest.id, tables: manifest.tables.length, blobs: blobs.length, damaged },
          `${text}backup ${manifest.id}: ${manifest.tables.length} tables and ${blobs.length} blobs read, ${damaged.length} damaged\n`,
        )
        if (damaged.length > 0) process.exitCode = EXIT_DAMAGE_FOUND
      } finally {
        line('')
      }
    },
  )
}

async function runPrune(name: string, flags: SubcommandFlags): Promise<void> {
  if (flags.keep === undefined) throw new UsageError('--keep is required: the number of backups to keep')
  const keep = parseKeep(flags.keep)
  const dryRun = flags.dryRun === true
  const config = readConfigOrExit()
  await withDatabase(config, async (db) =>
    withDestination(
      name,
      flags,
      { config, log: createLog(config.logLevel), mustExist: true },
      async (destination) => {
        const pruned = await pruneExclusively(db, destination, { keep, dryRun, signal: interruptSignal() })
        printResult(flags.json === true, { dryRun, ...pruned }, pruneText(pruned, dryRun))
      },
    ),
  )
}

function pruneText({ kept, removed, blobs }: PruneReport, dryRun: boolean): string {
  const what = `${removed.length} backups and ${blobs.count} images (${formatSize(blobs.bytes)})`
  return `${what} ${dryRun ? 'would be removed' : 'removed'}, ${kept} backups kept\n`
}

function backupText(manifest: BackupManifest, seconds: number, pruned: PruneReport | undefined): string {
  const { id, blobs, damaged } = manifest
  const { database, masterKey } = summarizeManifest(manifest)
  const lost =
    damaged.length === 0
      ? ''
      : `${damaged.length} images are missing or damaged in the installation, and not in the backup; berth admin scrub lists them\n`
  const key = masterKey ? 'included, encrypted with the passphrase' : 'left out: keep a copy of it elsewhere'
  return `backup      ${id}
database    ${database.rows} rows, ${formatSize(database.bytes)}
images      ${blobs.count}, ${formatSize(blobs.bytes)}
added       ${blobs.added.count}, ${formatSize(blobs.added.bytes)}
master key  ${key}
time        ${seconds} s
${lost}${pruned === undefined ? '' : pruneText(pruned, false)}`
}
