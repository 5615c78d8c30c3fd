import { setTimeout as sleep } from 'node:timers/promises'
import type { Column } from '@berth/cli/output/output.ts'
import { formatSize, parseSize } from '@berth/cli/output/sizes.ts'
import type { Command } from 'commander'
import { limits } from '../../config/limits.ts'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import { type Finding, isFailure } from '../../registry/scrub/findings.ts'
import type { ScrubReport } from '../../registry/scrub/run.ts'
import { scrub } from '../../registry/scrub/scrub.ts'
import { acquireJob } from '../../storage/jobs/job-leases.ts'
import { printResult, renderTable } from './output.ts'
import { createByteProgress, createProgressLine, interruptSignal } from './progress.ts'
import { EXIT_DAMAGE_FOUND, readConfigOrExit, withBlobStore } from './with-installation.ts'

/** `berth admin scrub`: whether what was pushed can still be pulled as it was. */
export function addScrubCommand(admin: Command): void {
  admin
    .command('scrub')
    .description('read all stored blobs and manifests again, and compare them with their digests')
    .option('--rate <bytes/s>', 'read no faster, such as 50MiB/s (default: as fast as it goes)')
    .option('--limit <bytes>', 'end after so many bytes, such as 500GiB')
    .option('--continue', 'go on where the last scrub ended, by its --limit or cut short', false)
    .option('--repair', 'let a push of the same bytes mend what is missing or damaged', false)
    .option('--force', 'repair, too, where most blobs are missing', false)
    .option('--json', 'print JSON', false)
    .addHelpText('after', help)
    .action((options: Options) => {
      const config = readConfigOrExit()
      return withBlobStore(config, async ({ store }, blobs) => {
        const rate = parseSizeOption('--rate', options.rate?.replace(/\/s$/, ''), 'a rate such as 50MiB/s')
        const bytesMax = parseSizeOption('--limit', options.limit, 'a size such as 500GiB')
        const { db, clock } = store
        const work = await acquireJob({ db, clock, onError: (error) => printError(String(error)) }, 'scrub')
        if (work === undefined) throw new SetupError('another process scrubs at the moment')
        const findings = createFindings()
        const line = createProgressLine()
        const progress = createByteProgress(line, () => `, ${findings.wrong()} wrong`)
        try {
          const report = await scrub({
            store,
            blobs,
            repair: options.repair,
            force: options.force,
            throttle: rate === undefined ? undefined : createThrottle(rate),
            bytesMax,
            position: options.continue ? work.position : '',
            savePosition: work.savePosition,
            onFinding: findings.add,
            onProgress: ({ bytes, totalBytes: bytesInAll }) => progress(bytes, bytesInAll),
            signal: AbortSignal.any([interruptSignal(), work.signal]),
            orphanAgeMs: limits.untrackedBlobAgeMsMin,
          })
          line('')
          const { position } = report
          await work.release({ position, ...(position === '' && { succeeded_ms: clock() }) })
          printResult(options.json, { ...report, ...findings.report() }, formatReport(report, findings))
        } catch (error) {
          line('')
          await work.release()
          throw error
        }
        if (findings.wrong() > 0) process.exitCode = EXIT_DAMAGE_FOUND
      })
    })
}

interface Options {
  readonly rate?: string
  readonly limit?: string
  readonly continue: boolean
  readonly repair: boolean
  readonly force: boolean
  readonly json: boolean
}

const help = `
It may run beside the server. Exit codes: 0 all is well, ${EXIT_DAMAGE_FOUND} something is missing or damaged, 1 it failed.

With --repair the server forgets bytes that are missing or damaged: whoever pushes the image again mends it in all repos that have it.
Until then pulls of it answer 404. Damaged bytes stay where the report says, until the next collection.
Where more than a few blobs are missing, and a tenth of all, nothing is forgotten before --force says so: the store may be the wrong one.

Examples:
  berth admin scrub --rate 50MiB/s
  berth admin scrub --limit 500GiB --continue --json      a part of it each night
  berth admin scrub --repair
`

function parseSizeOption(option: string, text: string | undefined, what: string): number | undefined {
  if (text === undefined) return undefined
  const found = parseSize(text)
  if (found === undefined) throw new UsageError(`${option}: ${JSON.stringify(text)} must be ${what}`)
  return found
}

function printError(line: string): void {
  process.stderr.write(`berth: ${line}\n`)
}

/** Waits for as long as the bytes so far should have taken. */
function createThrottle(bytesPerSecond: number): (bytes: number) => Promise<void> {
  let [startMs, sum] = [performance.now(), 0]
  return async (bytes) => {
    sum += bytes
    const aheadMs = (sum / bytesPerSecond) * 1000 - (performance.now() - startMs)
    if (aheadMs > 1) await sleep(aheadMs)
    // What was missed, by a slow disk, is not made up for.
    else if (aheadMs < -1000) [startMs, sum] = [performance.now(), 0]
  }
}

interface Findings {
  add(finding: Finding): void
  wrong(): number
  report(): {
    readonly counts: Readonly<Record<string, number>>
    readonly findings: readonly Finding[]
  }
}

function createFindings(): Findings {
  const counts: Record<Finding['kind'], number> = {
    missing: 0,
    damaged: 0,
    unreadable: 0,
    incomplete: 0,
    orphan: 0,
  }
  const findings: Finding[] = []
  return {
    add(finding) {
      counts[finding.kind]++
      if (counts[finding.kind] <= limits.scrubFindingsMax) findings.push(finding)
    },
    wrong: () => counts.missing + counts.damaged + counts.unreadable,
    report: () => ({ counts, findings }),
  }
}

function formatReport({ blobs, bytes, manifests, position }: ScrubReport, findings: Findings): string {
  const all = findings.report().findings
  const text = all.length === 0 ? '' : `${renderTable(all, columns, '')}\n`
  const unmended = all.filter((finding) => isFailure(finding) && !finding.repaired).length
  const end = position === '' ? '' : `; ended at ${position}, --continue goes on`
  const advice =
    unmended === 0
      ? ''
      : '--repair lets a push of the same bytes mend what is missing or damaged; a manifest is deleted first.\n'
  return `${text}${blobs} blobs (${formatSize(bytes)}) and ${manifests} manifests read, ${findings.wrong()} wrong${end}\n${advice}`
}

const columns: readonly Column<Finding>[] = [
  { title: 'FOUND', kind: 'name', value: ({ kind }) => kind },
  { title: 'WHAT', value: ({ what }) => what },
  { title: 'DIGEST', kind: 'name', value: ({ digest }) => digest },
  { title: 'WHY', kind: 'long', value: ({ reason }) => reason },
  { title: 'REPAIRED', value: ({ repaired }) => (repaired ? 'yes' : '') },
  { title: 'STORED AT', kind: 'name', value: ({ location }) => location },
  {
    title: 'REPOS',
    kind: 'long',
    value: ({ repos, repoCount }) =>
      `${repos.map(({ name }) => name).join(', ')}${repoCount > repos.length ? ` and ${repoCount - repos.length} more` : ''}`,
  },
]
