import { existsSync } from 'node:fs'
import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import type { View } from '@berth/cli/output/output.ts'
import { formatSize } from '@berth/cli/output/sizes.ts'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import { version } from '../../config/version.ts'
import type { Config } from '../../installation/config.ts'
import { findMasterKey, openBlobStore, openDatabase } from '../../installation/installation.ts'
import { backUp, requireBackupPossible, withBackupLease } from '../../operator/backup/backup.ts'
import {
  chooseBackup,
  findDamagedBlobs,
  listBackedUpBlobs,
  type PruneReport,
  prune,
  verifyTables,
} from '../../operator/backup/contents.ts'
import type { Destination } from '../../operator/backup/destination.ts'
import type { BackupManifest } from '../../operator/backup/manifest.ts'
import { openBackupRepository, type StoredBackup } from '../../operator/backup/repository.ts'
import type { Db } from '../../storage/db.ts'
import { createLog } from '../../telemetry/log.ts'
import { dryRunOption, jsonOption } from '../options.ts'
import { createByteProgress, interruptSignal } from '../progress.ts'
import { EXIT_DAMAGE_FOUND, operatorList, readConfigOrExit, reportFailure } from '../with-installation.ts'
import {
  destinationParameter,
  passphraseOption,
  readPassphrase,
  storeNotes,
  storeOptions,
  withDestination,
} from './options.ts'

const keepOption = { flags: '--keep <n>', summary: 'number of backups to keep, newest first' } as const

/** `berth admin backup`: backs up a running installation, and lists, verifies and deletes backups. */
export const backupCommand: CommandDeclaration = {
  name: 'backup',
  summary: 'Back up the database, the master key and the images while the server is running',
  parameters: [destinationParameter],
  options: [
    passphraseOption,
    { flags: '--without-key', summary: 'exclude the master key from the backup' },
    { ...keepOption, summary: 'number of backups to keep; older ones are deleted afterwards' },
    ...storeOptions,
    jsonOption,
  ],
  notes: `
${storeNotes}

Garbage collection deletes no blobs while a backup runs. Images are stored once for all backups of a destination, so a
later backup copies only new ones. If a backup is interrupted, run it again: it copies what is missing. Store the
passphrase in another place than the backups: without it, or a copy of the master key, the secrets in a backup cannot be
decrypted.

Exit codes: 0 complete, ${EXIT_DAMAGE_FOUND} complete except for images that are missing or damaged in the installation, 1 failed, 2 wrong
usage, 3 database unreachable.`,
  examples: [
    'berth admin backup /srv/backups/berth --passphrase-file /etc/berth/passphrase --keep 14',
    'berth admin backup s3://backups/berth --s3-endpoint https://s3.example.com --json',
    'berth admin backup /srv/backups/berth --without-key',
  ],
  run: (invocation) => reportFailure(() => runBackup(invocation)),
  commands: [
    operatorList(
      {
        summary: 'List the backups in a destination',
        parameters: [destinationParameter],
        options: [...storeOptions, jsonOption],
        examples: ['berth admin backup list /srv/backups/berth'],
        view: ({ argument }) => ({ ...view, empty: `${argument(0)} contains no backups` }),
      },
      listBackups,
    ),
    {
      name: 'verify',
      summary: 'Verify the checksums of a backup',
      parameters: [destinationParameter, { name: 'BACKUP', summary: 'backup id (default: the latest)' }],
      options: [...storeOptions, jsonOption],
      notes: `
Exit codes: 0 the backup is intact, ${EXIT_DAMAGE_FOUND} something is missing or damaged, 1 failed.
Delete a damaged image from the destination: the next backup stores it again.`,
      examples: [
        'berth admin backup verify /srv/backups/berth',
        'berth admin backup verify s3://backups/berth 20260131T020000Z-0a1b2c --json',
      ],
      run: (invocation) => reportFailure(() => runVerify(invocation)),
    },
    {
      name: 'prune',
      summary: 'Delete old backups and the images that only they contain',
      parameters: [destinationParameter],
      options: [keepOption, dryRunOption, ...storeOptions, jsonOption],
      examples: [
        'berth admin backup prune /srv/backups/berth --keep 14 --dry-run',
        'berth admin backup prune s3://backups/berth --keep 14',
      ],
      run: (invocation) => reportFailure(() => runPrune(invocation)),
    },
  ],
}

async function runBackup(invocation: Invocation): Promise<void> {
  const { output, optionIfSet } = invocation
  const keepText = optionIfSet('keep')
  const keep = keepText === undefined ? undefined : parseKeep(keepText)
  const withoutKey = invocation.flag('withoutKey')
  if (withoutKey && optionIfSet('passphraseFile') !== undefined)
    throw new UsageError('--without-key and --passphrase-file cannot be combined')
  const config = readConfigOrExit()
  const log = createLog(config.logLevel)
  const open = { config, log, mustExist: false }
  await withDatabase(config, (db) =>
    withDestination(invocation, open, async (destination) => {
      await requireBackupPossible(db)
      const key = withoutKey ? undefined : await sealingKey(config, db, invocation)
      const blobs = await openBlobStore(config, db, log)
      const progress = createByteProgress(output.progress)
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
            at.step === 'tables' ? output.progress(`table ${at.table}`) : progress(at.bytes, at.totalBytes),
          onError: reportError,
        })
        const seconds = Math.round((performance.now() - startMs) / 100) / 10
        const pruned =
          keep === undefined
            ? undefined
            : await pruneExclusively(db, destination, { keep, dryRun: false, signal })
        output.progress('')
        const result = { ...summarizeManifest(manifest), seconds, ...(pruned && { pruned }) }
        output.result(result, backupText(manifest, seconds, pruned))
        if (manifest.damaged.length > 0) process.exitCode = EXIT_DAMAGE_FOUND
      } finally {
        output.progress('')
        blobs.close()
      }
    }),
  )
}

async function sealingKey(config: Config, db: Db, invocation: Invocation) {
  const masterKey = await findMasterKey(config, db)
  if (masterKey === undefined) return undefined
  const hint = ', or exclude the key with --without-key'
  return { masterKey, passphrase: await readPassphrase(invocation, { isNew: true, hint }) }
}

/** Prunes under the backup lease: a running backup relies on stored images. */
function pruneExclusively(
  db: Db,
  destination: Destination,
  options: Parameters<typeof prune>[1],
): Promise<PruneReport> {
  return withBackupLease({ db, clock: Date.now, onError: reportError }, async () =>
    prune(await openBackupRepository(destination), options),
  )
}

/** Opens the database without migrating it, because an installation is backed up before an upgrade. */
async function withDatabase(config: Config, work: (db: Db) => Promise<void>): Promise<void> {
  if (config.databaseUrl === undefined && !existsSync(config.dataDir))
    throw new SetupError(
      `data directory ${config.dataDir} not found; set BERTH_DATA_DIR to that of the server`,
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
  if (keep === undefined) throw new UsageError(`--keep: ${JSON.stringify(text)} must be a positive integer`)
  return keep
}

async function listBackups(invocation: Invocation) {
  const config = readConfigOrExit()
  return withDestination(
    invocation,
    { config, log: createLog(config.logLevel), mustExist: true },
    async (destination) => (await (await openBackupRepository(destination)).list()).map(toBackupRow),
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

const view: View<ReturnType<typeof toBackupRow>> = {
  id: ({ id }) => id,
  columns: [
    { title: 'BACKUP', kind: 'name', value: ({ id }) => id },
    { title: 'TIME', kind: 'time', value: (row) => (row.complete ? row.snapshotTime : '') },
    { title: 'VERSION', value: (row) => (row.complete ? row.version : 'incomplete') },
    { title: 'DATABASE', value: (row) => (row.complete ? formatSize(row.database.bytes) : '') },
    { title: 'IMAGES', value: (row) => (row.complete ? formatSize(row.blobs.bytes) : '') },
    { title: 'ADDED', value: (row) => (row.complete ? formatSize(row.blobs.added.bytes) : '') },
    { title: 'KEY', value: (row) => (row.complete ? (row.masterKey ? 'included' : 'excluded') : '') },
    { title: 'DAMAGED', value: (row) => (row.complete ? String(row.damaged.length) : '') },
  ],
}

async function runVerify(invocation: Invocation): Promise<void> {
  const { output } = invocation
  const config = readConfigOrExit()
  await withDestination(
    invocation,
    { config, log: createLog(config.logLevel), mustExist: true },
    async (destination) => {
      const reading = { signal: interruptSignal(), onProgress: createByteProgress(output.progress) }
      try {
        const repository = await openBackupRepository(destination)
        const manifest = await chooseBackup(repository, invocation.argument(1) || undefined)
        await verifyTables(repository, manifest, reading)
        const blobs = await listBackedUpBlobs(repository, manifest)
        const damaged = (await findDamagedBlobs(repository, blobs, reading)).map(({ file }) => file)
        output.progress('')
        const text = damaged.map((file) => `damaged  ${file}\n`).join('')
        output.result(
          { backup: manifest.id, tables: manifest.tables.length, blobs: blobs.length, damaged },
          `${text}backup ${manifest.id}: ${manifest.tables.length} tables and ${blobs.length} blobs verified, ${damaged.length} damaged\n`,
        )
        if (damaged.length > 0) process.exitCode = EXIT_DAMAGE_FOUND
      } finally {
        output.progress('')
      }
    },
  )
}

async function runPrune(invocation: Invocation): Promise<void> {
  const keepText = invocation.optionIfSet('keep')
  if (keepText === undefined) throw new UsageError('--keep is required: the number of backups to keep')
  const keep = parseKeep(keepText)
  const dryRun = invocation.flag('dryRun')
  const config = readConfigOrExit()
  await withDatabase(config, async (db) =>
    withDestination(
      invocation,
      { config, log: createLog(config.logLevel), mustExist: true },
      async (destination) => {
        const pruned = await pruneExclusively(db, destination, { keep, dryRun, signal: interruptSignal() })
        invocation.output.result({ dryRun, ...pruned }, pruneText(pruned, dryRun))
      },
    ),
  )
}

function pruneText({ kept, removed, blobs }: PruneReport, dryRun: boolean): string {
  const what = `${removed.length} backups and ${blobs.count} images (${formatSize(blobs.bytes)})`
  return `${what} ${dryRun ? 'would be deleted' : 'deleted'}, ${kept} backups kept\n`
}

function backupText(manifest: BackupManifest, seconds: number, pruned: PruneReport | undefined): string {
  const { id, blobs, damaged } = manifest
  const { database, masterKey } = summarizeManifest(manifest)
  const lost =
    damaged.length === 0
      ? ''
      : `${damaged.length} images are missing or damaged in the installation and are not in the backup; list them with berth admin scrub\n`
  const key = masterKey ? 'included, encrypted with the passphrase' : 'excluded; store a copy of it elsewhere'
  return `backup      ${id}
database    ${database.rows} rows, ${formatSize(database.bytes)}
images      ${blobs.count}, ${formatSize(blobs.bytes)}
added       ${blobs.added.count}, ${formatSize(blobs.added.bytes)}
master key  ${key}
time        ${seconds} s
${lost}${pruned === undefined ? '' : pruneText(pruned, false)}`
}
