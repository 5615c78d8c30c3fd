import type { RetentionVerdict } from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../../invocation/command-declaration.ts'
import { parseDurationOption } from '../../../invocation/durations.ts'
import type { Invocation } from '../../../invocation/invocation.ts'
import { yesOption } from '../../../invocation/options.ts'
import { formatSize } from '../../../output/sizes.ts'
import { formatCounts, loadRepoPath, verdictView } from './policy.ts'
import { repoParameters, resolveRepo } from './repos.ts'

/** Deletes the manifests of a repo that nothing needs, once. */

interface UntaggedRequest {
  readonly uid: string
  readonly olderThan?: string
}

async function* listVerdicts(
  invocation: Invocation,
  request: UntaggedRequest,
): AsyncGenerator<RetentionVerdict> {
  const client = await invocation.client()
  let pageToken = ''
  let size = 0
  do {
    const page = await client.manifests.previewUntaggedManifests({ ...request, pageSize: 200, pageToken })
    size += Number(page.unreferencedBytes)
    yield* page.verdicts
    pageToken = page.nextPageToken
    if (pageToken === '')
      invocation.output.notice(`${formatCounts(page)} would be deleted, ${formatFreed(size)}`)
  } while (pageToken !== '')
}

const formatFreed = (bytes: number) => `${formatSize(bytes)} of blobs would be unreferenced in the repo`

async function deleteUntagged(invocation: Invocation, request: UntaggedRequest): Promise<void> {
  const client = await invocation.client()
  const preview = await client.manifests.previewUntaggedManifests({
    ...request,
    deletedOnly: true,
    pageSize: 1,
  })
  const path = await loadRepoPath(invocation, request.uid)
  const deleted = { deletedTags: 0, deletedManifests: 0 }
  if (preview.deletedManifests > 0) {
    const size = formatSize(Number(preview.unreferencedBytes))
    await invocation.prompt.confirm(
      `Delete ${formatCounts(preview)} from ${path}? Only they reference ${size} of blobs in the repo.`,
    )
    for (;;) {
      const part = await client.manifests.deleteUntaggedManifests({ ...request })
      deleted.deletedTags += part.deletedTags
      deleted.deletedManifests += part.deletedManifests
      if (part.remainingManifests === 0 || part.deletedManifests === 0) break
      invocation.output.progress(
        `deleted ${deleted.deletedManifests} manifests, ${part.remainingManifests} remain`,
      )
    }
    invocation.output.progress('')
  }
  invocation.output.notice(`deleted ${formatCounts(deleted)} from ${path}`)
  if (invocation.output.format === 'json') invocation.output.line(JSON.stringify(deleted, undefined, 2))
}

export const deleteUntaggedCommand: CommandDeclaration = {
  name: 'delete-untagged',
  summary: 'Delete manifests that no tag, index or subject needs',
  parameters: repoParameters,
  options: [
    {
      flags: '--older-than <age>',
      summary: 'minimum time since a manifest was pushed or lost its last tag, at least 1h (default: 1d)',
    },
    { flags: '--dry-run', summary: 'show what would be deleted, and why the rest is kept' },
    yesOption,
  ],
  notes:
    'Tags of signatures (sha256-…) of a deleted manifest are deleted with it. Garbage collection deletes blobs\nthat are no longer referenced. To delete untagged manifests regularly, use berth images policy set\n--untagged-after.',
  examples: [
    'berth images repos delete-untagged my-org/app --dry-run',
    'berth images repos delete-untagged my-org/app --older-than 7d --yes',
  ],
  async run(invocation) {
    const age = invocation.option('olderThan')
    const olderThan = age === '' ? {} : { olderThan: `${parseDurationOption('--older-than', age)}s` }
    const request = { uid: await resolveRepo(invocation), ...olderThan }
    if (invocation.flag('dryRun'))
      await invocation.output.list(listVerdicts(invocation, request), verdictView)
    else await deleteUntagged(invocation, request)
  },
}
