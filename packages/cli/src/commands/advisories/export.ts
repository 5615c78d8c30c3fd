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
  getAccessToken,
  NotSignedIn,
  parseJsonOrMessage,
  toUnreachable,
  Unreachable,
} from '../../session/access-token.ts'
import { failureReason, request } from '../../session/http.ts'

/** Takes the advisories of a group elsewhere: what it publishes, as one file. */

/** Where each format is below the feeds of a group. */
const feedPaths = { osv: 'osv/all.zip', secdb: 'secdb/security.json', openvex: 'openvex/all.zip' } as const
type Format = keyof typeof feedPaths

export function feedUrl(api: string, group: string, feed: string): string {
  return `${api}/vulnerabilities/feeds/${group}/${feed}`
}

export const exportCommand: CommandDeclaration = {
  name: 'export',
  summary: 'write advisories in a format that scanners read',
  options: [
    { flags: '--parent <group>', summary: 'the organization or folder, with everything below it' },
    {
      flags: '--as <format>',
      summary: 'osv and openvex are zip files, secdb is JSON',
      choices: Object.keys(feedPaths),
    },
    { flags: '--artifact <name>', summary: 'with openvex: the document of this artifact alone' },
    { flags: '-o, --output <file>', summary: 'where to write it; - or nothing: standard output' },
  ],
  formats: 'any',
  examples: [
    'berth advisories export --parent my-org --as osv --output advisories.zip',
    'berth advisories export --parent my-org --as secdb | jq .packages',
    'berth advisories export --parent my-org --as openvex --artifact git --output git.vex.json',
  ],
  async run(invocation) {
    const format = invocation.option('as') as Format | ''
    if (format === '') throw new UsageError(`--as must be given: one of ${Object.keys(feedPaths).join(', ')}`)
    const artifact = invocation.option('artifact')
    if (artifact !== '' && format !== 'openvex') throw new UsageError('--artifact goes with --as openvex')
    const target = invocation.option('output') || '-'
    const isPacked = artifact === '' && format !== 'secdb'
    if (target === '-' && isPacked && process.stdout.isTTY === true)
      throw new UsageError('a zip file is nothing for a terminal: give --output FILE')
    const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
    const feed = artifact === '' ? feedPaths[format] : `openvex/${vexFileName(artifact)}`
    const response = await fetchFeed(invocation as AuthInvocation, group, feed)
    await saveResponse(response, target)
    if (target !== '-') invocation.output.notice(`wrote ${target}`)
  },
}

/** As the index has it. */
function vexFileName(artifact: string): string {
  return `${artifact === 'index' || artifact.startsWith('~') ? '~' : ''}${encodeURIComponent(artifact)}.json`
}

/** With a token where there is one: a public feed needs none. */
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
  throw new CommandFailed(response.status === 404 ? `there is nothing to export under ${feed}` : why)
}

/** Making and sending the feed of a large organization takes minutes. */
const WHOLE_FEED_MS = 30 * 60 * 1000

/** A file is there whole or not at all. */
async function saveResponse(response: Response, target: string): Promise<void> {
  const body = response.body ?? new Blob([]).stream()
  try {
    if (target === '-') {
      // Without closing it: that is for the end of the program.
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
    throw isOfFile ? error : new Unreachable(`the answer was cut off: ${failureReason(error)}`)
  }
}
