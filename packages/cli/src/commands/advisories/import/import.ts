import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { formats } from '@berth/advisory-formats/advisory-record.ts'
import { findDocuments, totalBytes } from '@berth/advisory-formats/archives/find-documents.ts'
import {
  type FoundFile,
  readUpTo,
  rejectedFile,
  tooLargeReason,
} from '@berth/advisory-formats/archives/found-file.ts'
import { documentsInFile } from '@berth/advisory-formats/archives/node-archives.ts'
import { createUnpackBudget } from '@berth/advisory-formats/archives/unpack-budget.ts'
import {
  type Batch,
  batchDocuments,
  COMPRESSED_BYTES_MIN,
  sendBatch,
} from '@berth/advisory-formats/import/document-batches.ts'
import { createImportSummary, type ImportSummary } from '@berth/advisory-formats/import/import-summary.ts'
import { formatLimits } from '@berth/advisory-formats/limits.ts'
import type { BerthClient } from '@berth/client/berth.ts'
import { cacheDirectory } from '../../../config/user-directories.ts'
import type { CommandDeclaration } from '../../../invocation/command-declaration.ts'
import { UsageError } from '../../../invocation/invocation.ts'
import { type AuthInvocation, exitCodes } from '../../../invocation/invoke.ts'
import { parentOption } from '../../../invocation/options.ts'
import { resolveGroupUid } from '../../../invocation/resource-lookup.ts'
import { type DownloadedFile, type FileFetcher, loadServerModule } from '../../../server-package.ts'
import { CommandFailed } from '../../../session/access-token.ts'
import { createProgress, type Progress } from './progress.ts'
import { printReport, toImportReport } from './report.ts'

/** `berth advisories import`: sends the documents at paths and URLs to the server. */

export const importCommand: CommandDeclaration = {
  name: 'import',
  summary: 'Import advisories from files, directories, archives (zip, tar, tar.gz) and https URLs',
  parameters: [
    {
      name: 'PATH|URL',
      summary: 'file, directory, archive or URL; - for standard input',
      required: true,
      variadic: true,
    },
  ],
  options: [
    { ...parentOption, summary: 'organization or folder of the advisories' },
    {
      flags: '--format <format>',
      summary: 'document format (default: detected for each document)',
      choices: formats,
    },
    { flags: '--dry-run', summary: 'show what would change without changing anything' },
    {
      flags: '--private-networks <cidrs>',
      summary: 'private networks to allow, also over http (BERTH_ISSUER_PRIVATE_NETWORKS)',
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
  const stop = new AbortController()
  const interrupt = () => {
    if (stop.signal.aborted) process.exit(exitCodes.interrupted)
    output.progress('')
    output.notice('stopping after the current batch; press Ctrl-C again to stop immediately')
    stop.abort(new Interrupted())
  }
  const sources = invocation.variadicArgument(0)
  const fetcher = sources.some(isUrl) ? await createFetcher(invocation) : undefined
  try {
    if (sources.filter((source) => source === STDIN).length > 1)
      throw new UsageError(`${STDIN} is allowed only once`)
    for (const source of sources) checkSource(source, fetcher)
    const parent = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
    const client = await invocation.client()
    const summary = createImportSummary()
    process.on('SIGINT', interrupt)
    const failure = await importAll(sources, {
      client,
      parent,
      dryRun,
      format: invocation.option('format'),
      fetcher,
      summary,
      progress: createProgress(output, summary),
      signal: stop.signal,
    }).then(
      () => undefined,
      (error: unknown) => error,
    )
    output.progress('')
    // The report is printed even if the import failed.
    const report = toImportReport(summary, { dryRun, stopped: failure !== undefined })
    await printReport(output, report)
    if (failure instanceof Interrupted) process.exitCode = exitCodes.interrupted
    else if (failure !== undefined) throw failure
    const { rejected, documents } = summary.total()
    if (failure === undefined && rejected > 0)
      throw new CommandFailed(
        documents === 0
          ? 'no documents were imported'
          : `${rejected} of ${rejected + documents} documents were rejected, the others were imported`,
      )
  } finally {
    process.off('SIGINT', interrupt)
    await fetcher?.close()
  }
}

class Interrupted extends Error {}

async function createFetcher(invocation: AuthInvocation): Promise<FileFetcher> {
  const { createFileFetcher } = await loadServerModule(invocation.server?.fileFetcher)
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

/** Returns a URL without its query and credentials, which may be secret. */
function displayUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

/** Standard input. */
const STDIN = '-'

function checkSource(source: string, fetcher: FileFetcher | undefined): void {
  if (source === STDIN) return
  if (!isUrl(source)) {
    if (!existsSync(source)) throw new UsageError(`file or directory ${source} not found`)
    return
  }
  const problem = fetcher?.urlProblem(source)
  if (problem !== undefined) throw new UsageError(`${source} ${problem}`)
}

interface ImportContext {
  readonly client: BerthClient
  readonly parent: string
  readonly dryRun: boolean
  readonly format: string
  /** Undefined if no source is a URL. */
  readonly fetcher: FileFetcher | undefined
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

/** Reads all of standard input: the directory of an archive is at its end. */
async function* readStdinDocuments({ signal }: ImportContext): AsyncGenerator<FoundFile> {
  const bytes = await readUpTo(process.stdin, formatLimits.advisoryDocumentBytesMax)
  if (bytes === undefined) yield rejectedFile(STDIN, tooLargeReason(formatLimits.advisoryDocumentBytesMax))
  else
    yield* documentsInFile(
      { name: STDIN, source: bytes },
      createUnpackBudget(bytes.length, formatLimits, signal),
    )
}

async function importUrl(url: string, importing: ImportContext): Promise<void> {
  const { fetcher, summary, progress, signal } = importing
  if (fetcher === undefined) return
  const name = displayUrl(url)
  let file: DownloadedFile
  try {
    file = await fetcher.fetch(url, {
      signal,
      onProgress: (bytes, total) => progress.showDownload(name, bytes, total),
    })
  } catch (error) {
    if (!(error instanceof Error && error.name === 'DownloadError')) throw error
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

/** Returns the message of the innermost cause, such as `self-signed certificate`. */
function rootCause(error: Error): string {
  const { cause } = error
  if (!(cause instanceof Error)) return ''
  return rootCause(cause) || (cause.message === error.message ? '' : cause.message)
}

async function importDocuments(found: AsyncIterable<FoundFile>, importing: ImportContext): Promise<void> {
  const { format, summary, signal, progress } = importing
  const batches = batchDocuments(found, {
    format,
    encode: encodeContent,
    onSkipped: () => summary.skip(),
    onRejected: (name, reason) => summary.reject({ name, format: '', line: 0, reason }),
  })
  for await (const batch of batches) {
    signal.throwIfAborted()
    progress.show()
    await send(batch, importing)
    progress.show()
  }
}

async function send(batch: Batch, { client, parent, dryRun, summary }: ImportContext): Promise<void> {
  const sendSome = async (documents: Batch) => {
    const imported = await client.advisoryDocuments.importAdvisoryDocuments({ parent, documents, dryRun })
    for (const document of imported.documents) {
      if (document.accepted) summary.accept(document)
      else summary.reject(document)
    }
  }
  await sendBatch(batch, sendSome, ({ name, format }, reason) =>
    summary.reject({ name, format, line: 0, reason }),
  )
}

const gzipAsync = promisify(gzip)

async function encodeContent(content: Uint8Array): Promise<string> {
  const bytes = content.byteLength > COMPRESSED_BYTES_MIN ? await gzipAsync(content) : content
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
