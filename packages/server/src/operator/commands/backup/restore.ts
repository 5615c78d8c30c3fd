import { formatSize } from '@berth/cli/output/sizes.ts'
import type { Command } from 'commander'
import { SetupError } from '../../../config/setup-errors.ts'
import type { Config } from '../../../installation/config.ts'
import { lockDatabase, openDatabase } from '../../../installation/installation.ts'
import type { BlobStore } from '../../../registry/blobs/blob-store.ts'
import { openBlobs } from '../../../registry/blobs/open.ts'
import { UnusableStore } from '../../../registry/blobs/s3/failures.ts'
import type { Finding } from '../../../registry/scrub/findings.ts'
import type { Log } from '../../../runtime/log.ts'
import { createLog } from '../../../telemetry/log.ts'
import { chooseBackup } from '../../backup/contents.ts'
import { openBackupRepository } from '../../backup/repository.ts'
import {
  RESTORE_APPLICATION_NAME,
  type RestoreProgress,
  type RestoreReport,
  restore,
} from '../../backup/restore.ts'
import { printResult } from '../output.ts'
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

/** `berth admin restore`: restore a backup into the installation that the environment describes. */
export function addRestoreCommand(admin: Command): void {
  const command = admin
    .command('restore')
    .description('restore a backup into an empty installation')
    .argument('<source>', 'directory or s3://BUCKET/PREFIX')
    .argument('[backup]', 'id of the backup (default: the latest)')
    .option('--replace', 'replace the installation that is there: everything in it is lost', false)
    .option('--allow-damaged', 'leave out images that are damaged in the backup', false)
    .option('--no-scrub', 'do not read all images again in the end')
  withPassphraseFlag(command)
  withStoreFlags(command)
    .option('--json', 'print JSON', false)
    .addHelpText('after', help)
    .action((source: string, id: string | undefined, flags: Flags) =>
      reportFailure(() => runRestore(source, id, flags)),
    )
}

interface Flags extends StoreFlags, PassphraseFlags {
  readonly replace: boolean
  readonly allowDamaged: boolean
  readonly scrub: boolean
  readonly json: boolean
}

const help = `${storeHelp.replace('DESTINATION', 'SOURCE')}
The environment says where to restore to, as for berth serve: BERTH_DATA_DIR, BERTH_DATABASE_URL, BERTH_BLOBS_S3_BUCKET. Another database
engine or store of images than before is fine. Stop the server first. Until a restore is finished the server does not start; run the command
again to continue it, or with another backup to start anew.

Exit codes: 0 all is restored, ${EXIT_DAMAGE_FOUND} restored without images that are missing or damaged, 1 it failed, 2 wrong usage, 3 the database
could not be reached.

Examples:
  BERTH_DATA_DIR=/srv/berth berth admin restore /srv/backups/berth --passphrase-file /etc/berth/passphrase
  BERTH_DATABASE_URL=postgres://berth@db/berth berth admin restore s3://backups/berth 20260131T020000Z-0a1b2c
  berth admin restore /srv/backups/berth --replace
`

async function runRestore(source: string, id: string | undefined, flags: Flags): Promise<void> {
  const config = readConfigOrExit()
  const log = createLog(config.logLevel)
  const line = createProgressLine()
  const signal = interruptSignal()
  const findings: Finding[] = []
  await withDestination(source, flags, { config, log, mustExist: true }, async (destination) => {
    const repository = await openBackupRepository(destination)
    const manifest = await chooseBackup(repository, id)
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
            readPassphrase(flags, { isNew: false, hint: ', or set BERTH_MASTER_KEY to the key itself' }),
          replace: flags.replace,
          allowDamaged: flags.allowDamaged,
          scrub: flags.scrub,
          signal,
          onProgress: createProgress(line),
          onFinding: (finding) => findings.push(finding),
        })
        line('')
        const seconds = Math.round((performance.now() - startMs) / 100) / 10
        printResult(flags.json, { ...report, seconds }, formatReport(report, findings, seconds))
        if (report.damaged.length > 0 || (report.scrub?.wrong ?? 0) > 0) process.exitCode = EXIT_DAMAGE_FOUND
      } finally {
        line('')
        blobs.close()
      }
    } finally {
      await opened.close()
      lock?.release()
    }
  })
}

/** The store to restore to, whichever database it had before. */
async function openTarget(config: Config, log: Log): Promise<BlobStore> {
  try {
    return await openBlobs(config, log)
  } catch (error) {
    throw error instanceof UnusableStore ? new SetupError(error.message) : error
  }
}

/** So that a restore knows its own connections. */
function withApplicationName(config: Config): Config {
  if (config.databaseUrl === undefined) return config
  // The first of two counts. An address of several servers is no URL to URL.
  const [servers, query] = config.databaseUrl.split('?')
  const name = `application_name=${encodeURIComponent(RESTORE_APPLICATION_NAME)}`
  return { ...config, databaseUrl: `${servers}?${query ? `${name}&${query}` : name}` }
}

const titles: Readonly<Record<RestoreProgress['step'], string>> = {
  check: 'check of the backup',
  tables: 'tables',
  blobs: 'images',
  scrub: 'check of what is restored',
}

function createProgress(line: (sentence: string) => void) {
  const steps = new Map<RestoreProgress['step'], (done: number, all: number) => void>()
  return ({ step, done, total: all }: RestoreProgress) => {
    if (step === 'tables') return line(`${titles.tables}: ${done} of ${all} rows`)
    const show = steps.get(step) ?? createByteProgress((text) => line(`${titles[step]} ${text}`))
    steps.set(step, show)
    show(done, all)
  }
}

function formatReport(report: RestoreReport, findings: readonly Finding[], seconds: number): string {
  const { backup, rows, blobs, damaged, migrations, scrub } = report
  const found = findings
    .map(({ kind, what, digest, reason }) => `${kind}  ${what} ${digest}: ${reason}\n`)
    .join('')
  const lost = damaged.map((what) => `left out: ${what}\n`).join('')
  const checked =
    scrub === undefined
      ? 'not checked; run berth admin scrub'
      : `${scrub.blobs} blobs and ${scrub.manifests} manifests read again, ${scrub.wrong} wrong`
  const ran = migrations.length === 0 ? '' : `migrations  ${migrations.join(', ')}\n`
  return `${found}${lost}backup      ${backup}
database    ${rows} rows
images      ${blobs.count}, ${formatSize(blobs.bytes)}
${ran}check       ${checked}
time        ${seconds} s
`
}
