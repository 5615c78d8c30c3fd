import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { formats } from '@berth/advisory-formats/advisory-record.ts'
import { documentsInFile } from '@berth/advisory-formats/archives/archive.ts'
import { findDocuments, totalBytes } from '@berth/advisory-formats/archives/find-documents.ts'
import {
  type FoundFile,
  readUpTo,
  rejectedFile,
  tooLargeReason,
} from '@berth/advisory-formats/archives/found-file.ts'
import { createUnpackBudget } from '@berth/advisory-formats/archives/unpack-budget.ts'
import { createImportSummary, type ImportSummary } from '@berth/advisory-formats/import-summary.ts'
import type { BerthClient, ImportedDocument } from '@berth/client/berth.ts'
import { type Download, DownloadError, displayUrl } from '@berth/server/advisories/feeds/download.ts'
import { createFileFetcher, type Fetcher } from '@berth/server/advisories/feeds/fetcher.ts'
import { limits } from '@berth/server/config/limits.ts'
import { cacheDirectory } from '../../config/user-directories.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { UsageError } from '../../invocation/invocation.ts'
import { type AuthInvocation, exitCodes } from '../../invocation/invoke.ts'
import { parentOption } from '../../invocation/options.ts'
import { resolveGroupUid } from '../../invocation/resource-lookup.ts'
import { CommandFailed } from '../../session/access-token.ts'
import { type Batch, batchDocuments } from './import-batches.ts'
import { printReport, toImportReport } from './import-report.ts'
import { createProgress, type Progress } from './progress.ts'

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
    { ...parentOption, summary: 'the organization or folder that the advisories go to' },
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
  const fetching = createFetcher(invocation)
  const stop = new AbortController()
  const interrupt = () => {
    if (stop.signal.aborted) process.exit(exitCodes.interrupted)
    output.progress('')
    output.notice('stopping after what is under way; once more ends it at once')
    stop.abort(new Interrupted())
  }
  try {
    const sources = invocation.variadicArgument(0)
    if (sources.filter((source) => source === STDIN).length > 1)
      throw new UsageError(`${STDIN} can be given once`)
    for (const source of sources) checkSource(source, fetching)
    const parent = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
    const client = await invocation.client()
    const summary = createImportSummary()
    process.on('SIGINT', interrupt)
    const failure = await importAll(sources, {
      client,
      parent,
      dryRun,
      format: invocation.option('format'),
      fetcher: fetching,
      summary,
      progress: createProgress(output, summary),
      signal: stop.signal,
    }).then(
      () => undefined,
      (error: unknown) => error,
    )
    output.progress('')
    // What was done is told, whatever ended it.
    const report = toImportReport(summary, { dryRun, stopped: failure !== undefined })
    if (invocation.flag('json')) output.line(JSON.stringify(report, undefined, 2))
    else await printReport(output, report)
    if (failure instanceof Interrupted) process.exitCode = exitCodes.interrupted
    else if (failure !== undefined) throw failure
    const { rejected, documents } = summary.total()
    if (failure === undefined && rejected > 0)
      throw new CommandFailed(
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

function createFetcher(invocation: AuthInvocation): Fetcher {
  const { BERTH_ISSUER_PRIVATE_NETWORKS: known = '' } = invocation.env
  const given = invocation.optionValues('privateNetworks')
  const networks = given.length > 0 ? given : known.split(',').map((network) => network.trim())
  try {
    const directory = join(cacheDirectory(invocation.env), 'berth', 'downloads')
    return createFileFetcher(
      directory,
      networks.filter((network) => network !== ''),
    )
  } catch (error) {
    throw new UsageError(`--private-networks: ${(error as Error).message}`)
  }
}

function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source)
}

/** Standard input. */
const STDIN = '-'

function checkSource(source: string, fetching: Fetcher): void {
  if (source === STDIN) return
  if (!isUrl(source)) {
    if (!existsSync(source)) throw new UsageError(`there is no file or folder ${source}`)
    return
  }
  const problem = fetching.urlProblem(source)
  if (problem !== undefined) throw new UsageError(`${source} ${problem}`)
}

interface ImportContext {
  readonly client: BerthClient
  readonly parent: string
  readonly dryRun: boolean
  readonly format: string
  readonly fetcher: Fetcher
  readonly summary: ImportSummary
  readonly progress: Progress
  readonly signal: AbortSignal
}

async function importAll(sources: readonly string[], importing: ImportContext): Promise<void> {
  const { progress } = importing
  for (const source of sources)
    if (!isUrl(source) && source !== STDIN) progress.addExpected(await totalBytes(source))
  for (const source of sources) {
    if (source === STDIN) await importDocuments(readStdinDocuments(importing), importing)
    else if (isUrl(source)) await importUrl(source, importing)
    else await importDocuments(findDocuments(source, source, searchOptions(importing)), importing)
  }
}

const searchOptions = ({ progress, signal }: ImportContext) => ({ signal, onRead: progress.addRead })

/** It is read whole: what is in an archive is found from its end. */
async function* readStdinDocuments({ signal }: ImportContext): AsyncGenerator<FoundFile> {
  const bytes = await readUpTo(process.stdin, limits.advisoryDocumentBytesMax)
  if (bytes === undefined) yield rejectedFile(STDIN, tooLargeReason(limits.advisoryDocumentBytesMax))
  else
    yield* documentsInFile({ name: STDIN, source: bytes }, createUnpackBudget(bytes.length, limits, signal))
}

async function importUrl(url: string, importing: ImportContext): Promise<void> {
  const { fetcher: fetching, summary, progress, signal } = importing
  const name = displayUrl(url)
  let file: Download
  try {
    file = await fetching.fetch(url, {
      signal,
      onProgress: (bytes, total) => progress.showDownload(name, bytes, total),
    })
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error
    const why = rootCause(error)
    summary.reject({
      name,
      format: '',
      line: 0,
      reason: why === '' ? error.message : `${error.message} (${why})`,
    })
    return
  }
  try {
    progress.addExpected(await totalBytes(file.path))
    await importDocuments(findDocuments(file.path, name, searchOptions(importing)), importing)
  } catch (error) {
    await file.abandon()
    throw error
  }
  await file.remove()
}

/** What the system says, for whoever asked and may know: `self-signed certificate`. */
function rootCause(error: Error): string {
  const { cause } = error
  if (!(cause instanceof Error)) return ''
  return rootCause(cause) || (cause.message === error.message ? '' : cause.message)
}

async function importDocuments(found: AsyncIterable<FoundFile>, importing: ImportContext): Promise<void> {
  const { format, summary, signal, progress } = importing
  const batches = batchDocuments(found, {
    format,
    onSkipped: () => summary.skip(),
    onRejected: (name, reason) => summary.reject({ name, format: '', line: 0, reason }),
  })
  for await (const batch of batches) {
    signal.throwIfAborted()
    progress.show()
    await sendBatch(batch, importing)
    progress.show()
  }
}

const DEADLINE_EXCEEDED = 4

/** What the server cannot do in the time of one request it is asked for in smaller parts. */
async function sendBatch(batch: Batch, importing: ImportContext): Promise<void> {
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
      await sendBatch(batch.slice(0, middle), importing)
      await sendBatch(batch.slice(middle), importing)
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
    if (document.accepted) summary.accept(document)
    else summary.reject(document)
  }
}
