import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import { formatSize } from '@berth/cli/output/sizes.ts'
import type { Config } from '../../installation/config.ts'
import { lockDatabase, openDatabase, toStoreError } from '../../installation/installation.ts'
import { chooseBackup } from '../../operator/backup/contents.ts'
import { openBackupRepository } from '../../operator/backup/repository.ts'
import {
  RESTORE_APPLICATION_NAME,
  type RestoreProgress,
  type RestoreReport,
  restore,
} from '../../operator/backup/restore.ts'
import type { BlobStore } from '../../registry/blobs/blob-store.ts'
import { openBlobs } from '../../registry/blobs/open.ts'
import { UnusableStore } from '../../registry/blobs/s3/failures.ts'
import type { Finding } from '../../registry/scrub/findings.ts'
import type { Log } from '../../runtime/log.ts'
import { createLog } from '../../telemetry/log.ts'
import { jsonOption } from '../options.ts'
import { createByteProgress, interruptSignal } from '../progress.ts'
import { EXIT_DAMAGE_FOUND, readConfigOrExit, reportFailure } from '../with-installation.ts'
import {
  destinationParameter,
  passphraseOption,
  readPassphrase,
  storeNotes,
  storeOptions,
  withDestination,
} from './options.ts'

/** `berth admin restore`: restores a backup into the installation that the environment configures. */
export const restoreCommand: CommandDeclaration = {
  name: 'restore',
  summary: 'Restore a backup into an empty installation',
  parameters: [
    { ...destinationParameter, name: 'SOURCE' },
    { name: 'BACKUP', summary: 'backup id (default: the latest)' },
  ],
  options: [
    { flags: '--replace', summary: 'replace the existing installation and lose all its data' },
    { flags: '--allow-damaged', summary: 'skip images that are damaged in the backup' },
    { flags: '--no-scrub', summary: 'skip the verification of all images at the end' },
    passphraseOption,
    ...storeOptions,
    jsonOption,
  ],
  notes: `
${storeNotes.replace('DESTINATION', 'SOURCE')}

The environment configures the target, as for berth serve: BERTH_DATA_DIR, BERTH_DATABASE_URL, BERTH_BLOBS_S3_BUCKET. The
database engine and the blob store may differ from those of the backup. Stop the server first. The server does not start
until the restore is complete; run the command again to continue it, or with another backup to start over.

Exit codes: 0 complete, ${EXIT_DAMAGE_FOUND} complete except for images that are missing or damaged, 1 failed, 2 wrong usage, 3 database
unreachable.`,
  examples: [
    'BERTH_DATA_DIR=/srv/berth berth admin restore /srv/backups/berth --passphrase-file /etc/berth/passphrase',
    'BERTH_DATABASE_URL=postgres://berth@db/berth berth admin restore s3://backups/berth 20260131T020000Z-0a1b2c',
    'berth admin restore /srv/backups/berth --replace',
  ],
  run: (invocation) => reportFailure(() => runRestore(invocation)),
}

async function runRestore(invocation: Invocation): Promise<void> {
  const { output, flag } = invocation
  const config = readConfigOrExit()
  const log = createLog(config.logLevel)
  const signal = interruptSignal()
  const findings: Finding[] = []
  await withDestination(invocation, { config, log, mustExist: true }, async (destination) => {
    const repository = await openBackupRepository(destination)
    const manifest = await chooseBackup(repository, invocation.argument(1) || undefined)
    const lock = await lockDatabase(config)
    const opened = await openDatabase(withApplicationName(config), log)
    const db = opened.background
    try {
      const blobs = await openTarget(config, log)
      try {
        const startMs = performance.now()
        const report = await restore({
          config,
          db,
          clock: Date.now,
          blobs,
          repository,
          manifest,
          passphrase: () =>
            readPassphrase(invocation, { isNew: false, hint: ', or set BERTH_MASTER_KEY to the key' }),
          replace: flag('replace'),
          allowDamaged: flag('allowDamaged'),
          scrub: flag('scrub'),
          signal,
          onProgress: createProgress(output.progress),
          onFinding: (finding) => findings.push(finding),
        })
        output.progress('')
        const seconds = Math.round((performance.now() - startMs) / 100) / 10
        output.result({ ...report, seconds }, formatReport(report, findings, seconds))
        if (report.damaged.length > 0 || (report.scrub?.wrong ?? 0) > 0) process.exitCode = EXIT_DAMAGE_FOUND
      } finally {
        output.progress('')
        blobs.close()
      }
    } finally {
      await opened.close()
      lock?.release()
    }
  })
}

/** Opens the target store without checking which database it belongs to. */
async function openTarget(config: Config, log: Log): Promise<BlobStore> {
  try {
    return await openBlobs(config, log)
  } catch (error) {
    throw error instanceof UnusableStore ? toStoreError(error) : error
  }
}

/** Adds an application name that identifies the connections of a restore. */
function withApplicationName(config: Config): Config {
  if (config.databaseUrl === undefined) return config
  // PostgreSQL uses the first of two values. The class URL cannot parse an address with several servers.
  const [servers, query] = config.databaseUrl.split('?')
  const name = `application_name=${encodeURIComponent(RESTORE_APPLICATION_NAME)}`
  return { ...config, databaseUrl: `${servers}?${query ? `${name}&${query}` : name}` }
}

const titles: Readonly<Record<RestoreProgress['step'], string>> = {
  check: 'verifying the backup',
  tables: 'tables',
  blobs: 'images',
  scrub: 'verifying the restored images',
}

function createProgress(show: (sentence: string) => void) {
  const steps = new Map<RestoreProgress['step'], (done: number, all: number) => void>()
  return ({ step, done, total: all }: RestoreProgress) => {
    if (step === 'tables') return show(`${titles.tables}: ${done} of ${all} rows`)
    const showBytes = steps.get(step) ?? createByteProgress((text) => show(`${titles[step]} ${text}`))
    steps.set(step, showBytes)
    showBytes(done, all)
  }
}

function formatReport(report: RestoreReport, findings: readonly Finding[], seconds: number): string {
  const { backup, rows, blobs, damaged, migrations, scrub } = report
  const found = findings
    .map(({ kind, what, digest, reason }) => `${kind}  ${what} ${digest}: ${reason}\n`)
    .join('')
  const lost = damaged.map((what) => `skipped: ${what}\n`).join('')
  const checked =
    scrub === undefined
      ? 'skipped; run berth admin scrub'
      : `${scrub.blobs} blobs and ${scrub.manifests} manifests verified, ${scrub.wrong} damaged`
  const ran = migrations.length === 0 ? '' : `migrations  ${migrations.join(', ')}\n`
  return `${found}${lost}backup      ${backup}
database    ${rows} rows
images      ${blobs.count}, ${formatSize(blobs.bytes)}
${ran}check       ${checked}
time        ${seconds} s
`
}
