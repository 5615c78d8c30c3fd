import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { resolveGroupUid } from '../../invocation/resource-lookup.ts'
import {
  CommandFailed,
  errorMessage,
  NotSignedIn,
  parseJsonOrMessage,
  toUnreachable,
  Unreachable,
} from '../../session/access-token.ts'
import { getAccessToken } from '../../session/current-token.ts'
import { failureReason, request } from '../../session/http.ts'

/** Exports the advisories of a group as one file. */

/** Path of each format in the feeds of a group. */
const feedPaths = { osv: 'osv/all.zip', secdb: 'secdb/security.json', openvex: 'openvex/all.zip' } as const
type Format = keyof typeof feedPaths

export function feedUrl(api: string, group: string, feed: string): string {
  return `${api}/vulnerabilities/feeds/${group}/${feed}`
}

export const exportCommand: CommandDeclaration = {
  name: 'export',
  summary: 'Export advisories in a format for scanners',
  options: [
    { flags: '--parent <group>', summary: 'organization or folder, including its subfolders' },
    {
      flags: '--as <format>',
      summary: 'export format: osv and openvex are zip files, secdb is JSON',
      choices: Object.keys(feedPaths),
    },
    { flags: '--artifact <name>', summary: 'with openvex: export only the document of this artifact' },
    { flags: '-o, --output <file>', summary: 'output file (default: -, standard output)' },
  ],
  formats: 'any',
  examples: [
    'berth advisories export --parent my-org --as osv --output advisories.zip',
    'berth advisories export --parent my-org --as secdb | jq .packages',
    'berth advisories export --parent my-org --as openvex --artifact git --output git.vex.json',
  ],
  async run(invocation) {
    const format = invocation.option('as') as Format | ''
    if (format === '') throw new UsageError(`--as is required: one of ${Object.keys(feedPaths).join(', ')}`)
    const artifact = invocation.option('artifact')
    if (artifact !== '' && format !== 'openvex') throw new UsageError('--artifact requires --as openvex')
    const target = invocation.option('output') || '-'
    const isPacked = artifact === '' && format !== 'secdb'
    if (target === '-' && isPacked && process.stdout.isTTY === true)
      throw new UsageError('a zip file cannot be written to a terminal: give --output FILE')
    const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
    const feed = artifact === '' ? feedPaths[format] : `openvex/${vexFileName(artifact)}`
    const response = await fetchFeed(invocation as AuthInvocation, group, feed)
    await saveResponse(response, target)
    if (target !== '-') invocation.output.notice(`wrote ${target}`)
  },
}

/** Returns the file name in the index. */
function vexFileName(artifact: string): string {
  return `${artifact === 'index' || artifact.startsWith('~') ? '~' : ''}${encodeURIComponent(artifact)}.json`
}

/** Sends a token if there is one: a public feed needs none. */
async function fetchFeed(invocation: AuthInvocation, group: string, feed: string): Promise<Response> {
  const url = feedUrl(invocation.settings.api, group, feed)
  const token = await getAccessToken(invocation).catch((error: unknown) => {
    if (error instanceof NotSignedIn) return error
    throw error
  })
  const headers = typeof token === 'string' ? { authorization: `Bearer ${token}` } : {}
  const response = await request(url, { headers }, WHOLE_FEED_MS).catch((error: unknown) => {
    throw toUnreachable(url, error)
  })
  if (response.status === 200) return response
  if (response.status === 401 && typeof token !== 'string') throw token
  const why = errorMessage(parseJsonOrMessage(await response.text()))
  if (response.status === 401) throw new NotSignedIn(why)
  if (response.status === 503) throw new Unreachable(why)
  throw new CommandFailed(response.status === 404 ? `nothing to export: ${feed} does not exist` : why)
}

/** The feed of a large organization takes minutes. */
const WHOLE_FEED_MS = 30 * 60 * 1000

/** Writes the file completely or not at all. */
async function saveResponse(response: Response, target: string): Promise<void> {
  const body = response.body ?? new Blob([]).stream()
  try {
    if (target === '-') {
      // Standard output must stay open.
      const write = (piece: Uint8Array, done: () => void) => void process.stdout.write(piece, done)
      await pipeline(body, new Writable({ write: (piece, _, done) => write(piece, () => done()) }))
      return
    }
    const draft = `${target}.${process.pid}.part`
    try {
      await pipeline(body, createWriteStream(draft))
      await rename(draft, target)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  } catch (error) {
    const isOfFile = (error as NodeJS.ErrnoException).syscall !== undefined
    throw isOfFile ? error : new Unreachable(`the response was cut off: ${failureReason(error)}`)
  }
}
