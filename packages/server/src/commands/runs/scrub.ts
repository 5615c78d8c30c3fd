import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import type { Output, View } from '@berth/cli/output/output.ts'
import { formatSize, parseSize } from '@berth/cli/output/sizes.ts'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import { leaseScrub, type ScrubRunReport, scrubUnderLease } from '../../registry/runs/scrub-run.ts'
import { type Finding, isFailure } from '../../registry/scrub/findings.ts'
import { jsonOption } from '../options.ts'
import { createByteProgress, interruptSignal } from '../progress.ts'
import { EXIT_DAMAGE_FOUND, readConfigOrExit, withBlobStore } from '../with-installation.ts'

/** `berth admin scrub`: verifies the stored blobs and manifests. */
export const scrubCommand: CommandDeclaration = {
  name: 'scrub',
  summary: 'Verify the digests of all stored blobs and manifests',
  options: [
    { flags: '--rate <bytes/s>', summary: 'maximum read rate, such as 50MiB/s (default: unlimited)' },
    { flags: '--limit <bytes>', summary: 'maximum number of bytes to read, such as 500GiB' },
    { flags: '--continue', summary: 'continue where the last scrub ended' },
    { flags: '--repair', summary: 'forget missing and damaged blobs, so that a push stores them again' },
    { flags: '--force', summary: 'repair even if most blobs are missing' },
    jsonOption,
  ],
  notes: `
The server may be running.

With --repair the server forgets blobs that are missing or damaged: a push of the same image repairs it in all repos that
contain it. Until then, pulls of it fail with 404. Damaged files stay at the reported location until the next garbage
collection. If many blobs are missing (a tenth of all), nothing is forgotten without --force: it may be the wrong store.

Exit codes: 0 no damage, ${EXIT_DAMAGE_FOUND} blobs or manifests are missing or damaged, 1 failed.`,
  examples: [
    'berth admin scrub --rate 50MiB/s',
    'berth admin scrub --limit 500GiB --continue --json',
    'berth admin scrub --repair',
  ],
  run: runScrub,
}

async function runScrub(invocation: Invocation): Promise<void> {
  const { output, optionIfSet, flag } = invocation
  await withBlobStore(readConfigOrExit(), async ({ store }, blobs) => {
    const rate = parseSizeOption('--rate', optionIfSet('rate')?.replace(/\/s$/, ''), 'a rate such as 50MiB/s')
    const bytesMax = parseSizeOption('--limit', optionIfSet('limit'), 'a size such as 500GiB')
    const showProgress = createByteProgress(output.progress, () => `, ${damaged} damaged`)
    let damaged = 0
    const run = {
      ...{ store, blobs, bytesMax, bytesPerSecond: rate },
      ...{ repair: flag('repair'), force: flag('force'), resume: flag('continue') },
      onProgress(bytes: number, totalBytes: number, damagedNow: number) {
        damaged = damagedNow
        showProgress(bytes, totalBytes)
      },
      onError: (error: unknown) => printError(String(error)),
      actor: 'system',
      signal: interruptSignal(),
    }
    const lease = await leaseScrub(run)
    if (lease === undefined)
      throw new SetupError('another process is scrubbing; run the command again when it has finished')
    const report = await scrubUnderLease(run, lease).finally(() => output.progress(''))
    await printReport(output, report)
    if (report.damaged > 0) process.exitCode = EXIT_DAMAGE_FOUND
  })
}

function parseSizeOption(option: string, text: string | undefined, what: string): number | undefined {
  if (text === undefined) return undefined
  const found = parseSize(text)
  if (found === undefined) throw new UsageError(`${option}: ${JSON.stringify(text)} must be ${what}`)
  return found
}

function printError(line: string): void {
  process.stderr.write(`berth: ${line}\n`)
}

async function printReport(output: Output, { damaged, ...report }: ScrubRunReport): Promise<void> {
  const { findings: all } = report
  if (all.length > 0 || !output.isForPeople) await output.report(report, all, view)
  if (!output.isForPeople) return
  if (all.length > 0) output.line('')
  const { blobs, bytes, manifests, position } = report
  const end = position === '' ? '' : `; stopped at ${position}, --continue resumes`
  output.line(
    `${blobs} blobs (${formatSize(bytes)}) and ${manifests} manifests verified, ${damaged} damaged${end}`,
  )
  if (all.some((finding) => isFailure(finding) && !finding.repaired))
    output.line(
      'To repair missing and damaged blobs, run with --repair and push the images again. Delete damaged manifests first.',
    )
}

const view: View<Finding> = {
  columns: [
    { title: 'FINDING', kind: 'name', value: ({ kind }) => kind },
    { title: 'TYPE', value: ({ what }) => what },
    { title: 'DIGEST', kind: 'name', value: ({ digest }) => digest },
    { title: 'REASON', kind: 'long', value: ({ reason }) => reason },
    { title: 'REPAIRED', value: ({ repaired }) => (repaired ? 'yes' : '') },
    { title: 'STORED AT', kind: 'name', value: ({ location }) => location },
    {
      title: 'REPOS',
      kind: 'long',
      value: ({ repos, repoCount }) =>
        `${repos.map(({ name }) => name).join(', ')}${repoCount > repos.length ? ` and ${repoCount - repos.length} more` : ''}`,
    },
  ],
  id: ({ digest }) => digest,
}
