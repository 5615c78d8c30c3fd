import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BerthClient, ImportedDocument } from '../../../client/berth.ts'
import { limits } from '../../core/limits.ts'
import { formats } from '../../vulnerabilities/advisory-record.ts'
import { documentsInFile } from '../../vulnerabilities/feeds/archive.ts'
import { bytesAt, documentsAt } from '../../vulnerabilities/feeds/documents-in.ts'
import { type Download, DownloadError, shownAddress } from '../../vulnerabilities/feeds/download.ts'
import { type Fetcher, fetcher } from '../../vulnerabilities/feeds/fetcher.ts'
import { type Found, readUpTo, refused, tooLarge } from '../../vulnerabilities/feeds/found.ts'
import { type ImportSummary, importSummary } from '../../vulnerabilities/feeds/import-summary.ts'
import { unpacking } from '../../vulnerabilities/feeds/unpacking.ts'
import type { CommandDeclaration } from '../client/command.ts'
import { UsageError } from '../client/invocation.ts'
import { groupUid } from '../client/locate.ts'
import { parent } from '../client/options.ts'
import { type AuthInvocation, exitCodes } from '../client/run.ts'
import { Refused } from '../client/session.ts'
import { cacheDirectory } from '../client/user-directories.ts'
import { type Batch, batchesOf } from './import-batches.ts'
import { reportOf, showReport } from './import-report.ts'
import { type Progress, progressIn } from './progress.ts'

/** `berth advisories import`: whatever is at some paths and addresses goes to the server, document by document. */

export const importCommand: CommandDeclaration = {
  name: 'import',
  summary: 'bring advisories in from files, folders, archives (zip, tar, tar.gz) and https addresses',
  parameters: [
    {
      name: 'PATH|URL',
      summary: 'what to read, - for standard input; each document is taken whole or not at all',
      required: true,
      variadic: true,
    },
  ],
  options: [
    { ...parent, summary: 'the organization or folder that the advisories go to' },
    {
      flags: '--format <format>',
      summary: 'of all documents (default: each by its content)',
      choices: formats,
    },
    { flags: '--dry-run', summary: 'say what would change, and change nothing' },
    { flags: '--json', summary: 'the same as -o json' },
    {
      flags: '--private-networks <cidrs>',
      summary:
        'networks that addresses may lie in besides public ones, over http too (BERTH_ISSUER_PRIVATE_NETWORKS)',
      repeatable: true,
    },
  ],
  examples: [
    'berth advisories import ./advisories --parent my-org/security',
    'berth advisories import https://osv.example.com/npm/all.zip --parent my-org --format osv',
    'vexctl generate | berth advisories import - --parent my-org',
    'berth advisories import security.json vex/ --parent my-org --dry-run --json',
  ],
  run: (invocation) => runImport(invocation as AuthInvocation),
}

async function runImport(invocation: AuthInvocation): Promise<void> {
  const { output } = invocation
  const dryRun = invocation.flag('dryRun')
  const fetching = fetcherFor(invocation)
  const stop = new AbortController()
  const interrupt = () => {
    if (stop.signal.aborted) process.exit(exitCodes.interrupted)
    output.progress('')
    output.done('stopping after what is under way; once more ends it at once')
    stop.abort(new Interrupted())
  }
  try {
    const sources = invocation.words(0)
    if (sources.filter((source) => source === STDIN).length > 1)
      throw new UsageError(`${STDIN} can be given once`)
    for (const source of sources) checkSource(source, fetching)
    const parent = await groupUid(invocation, invocation.text('parent'), '--parent')
    const client = await invocation.client()
    const summary = importSummary()
    process.on('SIGINT', interrupt)
    const failure = await importAll(sources, {
      client,
      parent,
      dryRun,
      format: invocation.text('format'),
      fetching,
      summary,
      progress: progressIn(output, summary),
      signal: stop.signal,
    }).then(
      () => undefined,
      (error: unknown) => error,
    )
    output.progress('')
    // What was done is told, whatever ended it.
    const report = reportOf(summary, { dryRun, stopped: failure !== undefined })
    if (invocation.flag('json')) output.text(JSON.stringify(report, undefined, 2))
    else await showReport(output, report)
    if (failure instanceof Interrupted) process.exitCode = exitCodes.interrupted
    else if (failure !== undefined) throw failure
    const { rejected, documents } = summary.total()
    if (failure === undefined && rejected > 0)
      throw new Refused(
        documents === 0
          ? 'no document was taken'
          : `${rejected} of ${rejected + documents} documents were not taken, all others were`,
      )
  } finally {
    process.off('SIGINT', interrupt)
    await fetching.close()
  }
}

class Interrupted extends Error {}

function fetcherFor(invocation: AuthInvocation): Fetcher {
  const { BERTH_ISSUER_PRIVATE_NETWORKS: known = '' } = invocation.env
  const given = invocation.list('privateNetworks')
  const networks = given.length > 0 ? given : known.split(',').map((network) => network.trim())
  try {
    const directory = join(cacheDirectory(invocation.env), 'berth', 'downloads')
    return fetcher(
      directory,
      networks.filter((network) => network !== ''),
    )
  } catch (error) {
    throw new UsageError(`--private-networks: ${(error as Error).message}`)
  }
}

function isAddress(source: string): boolean {
  return /^https?:\/\//i.test(source)
}

/** Standard input. */
const STDIN = '-'

function checkSource(source: string, fetching: Fetcher): void {
  if (source === STDIN) return
  if (!isAddress(source)) {
    if (!existsSync(source)) throw new UsageError(`there is no file or folder ${source}`)
    return
  }
  const problem = fetching.problemOf(source)
  if (problem !== undefined) throw new UsageError(`${source} ${problem}`)
}

interface Importing {
  readonly client: BerthClient
  readonly parent: string
  readonly dryRun: boolean
  readonly format: string
  readonly fetching: Fetcher
  readonly summary: ImportSummary
  readonly progress: Progress
  readonly signal: AbortSignal
}

async function importAll(sources: readonly string[], importing: Importing): Promise<void> {
  const { progress } = importing
  for (const source of sources)
    if (!isAddress(source) && source !== STDIN) progress.expect(await bytesAt(source))
  for (const source of sources) {
    if (source === STDIN) await importFound(documentsInInput(importing), importing)
    else if (isAddress(source)) await importAddress(source, importing)
    else await importFound(documentsAt(source, source, searching(importing)), importing)
  }
}

const searching = ({ progress, signal }: Importing) => ({ signal, onRead: progress.read })

/** It is read whole: what is in an archive is found from its end. */
async function* documentsInInput({ signal }: Importing): AsyncGenerator<Found> {
  const bytes = await readUpTo(process.stdin, limits.advisoryDocumentBytesMax)
  if (bytes === undefined) yield refused(STDIN, tooLarge(limits.advisoryDocumentBytesMax))
  else yield* documentsInFile({ name: STDIN, source: bytes }, unpacking(bytes.length, limits, signal))
}

async function importAddress(url: string, importing: Importing): Promise<void> {
  const { fetching, summary, progress, signal } = importing
  const name = shownAddress(url)
  let file: Download
  try {
    file = await fetching.fetch(url, {
      signal,
      onProgress: (bytes, total) => progress.fetched(name, bytes, total),
    })
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error
    const why = causeOf(error)
    summary.reject({
      name,
      format: '',
      line: 0,
      reason: why === '' ? error.message : `${error.message} (${why})`,
    })
    return
  }
  try {
    progress.expect(await bytesAt(file.path))
    await importFound(documentsAt(file.path, name, searching(importing)), importing)
  } catch (error) {
    await file.abandon()
    throw error
  }
  await file.remove()
}

/** What the system says, for whoever asked and may know: `self-signed certificate`. */
function causeOf(error: Error): string {
  const { cause } = error
  if (!(cause instanceof Error)) return ''
  return causeOf(cause) || (cause.message === error.message ? '' : cause.message)
}

async function importFound(found: AsyncIterable<Found>, importing: Importing): Promise<void> {
  const { format, summary, signal, progress } = importing
  const batches = batchesOf(found, {
    format,
    onSkipped: () => summary.skip(),
    onRefused: (name, reason) => summary.reject({ name, format: '', line: 0, reason }),
  })
  for await (const batch of batches) {
    signal.throwIfAborted()
    progress.show()
    await send(batch, importing)
    progress.show()
  }
}

const DEADLINE_EXCEEDED = 4

/** What the server cannot do in the time of one request it is asked for in smaller parts. */
async function send(batch: Batch, importing: Importing): Promise<void> {
  const { client, parent, dryRun, summary } = importing
  let documents: readonly ImportedDocument[]
  try {
    const reply = await client.advisoryDocuments.importAdvisoryDocuments({ parent, documents: batch, dryRun })
    documents = reply.documents
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== DEADLINE_EXCEEDED) throw error
    const [only] = batch
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      await send(batch.slice(0, middle), importing)
      await send(batch.slice(middle), importing)
    } else if (only !== undefined)
      summary.reject({
        name: only.name ?? '',
        format: only.format ?? '',
        line: 0,
        reason: 'takes the server too long; it may be there all the same',
      })
    return
  }
  for (const document of documents) {
    if (document.accepted) summary.take(document)
    else summary.reject(document)
  }
}
