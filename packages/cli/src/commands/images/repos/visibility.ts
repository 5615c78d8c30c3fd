import type { Visibility } from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../../invocation/invocation.ts'
import { yesOption } from '../../../invocation/options.ts'
import { resolveGroupUid } from '../../../invocation/resource-lookup.ts'
import type { View } from '../../../output/output.ts'
import { plural } from '../../../output/plural.ts'
import { repoParameters, resolveRepo } from './repos.ts'

/** Commands that show, publish and unpublish repositories. What is public is a folder with everything in it. */

const visibilityView: View<Visibility> = {
  columns: [
    { title: 'VISIBILITY', value: (one) => (one.public ? 'public' : 'private') },
    {
      title: 'PUBLIC THROUGH',
      kind: 'name',
      value: ({ bindings }) => bindings.map((one) => `${one.roleName} in ${one.groupName}`).join(', '),
    },
    { title: 'REPOS IN THE FOLDER', value: ({ repos }) => String(repos) },
  ],
}

const folderParameters = [{ name: 'FOLDER', summary: 'organization or folder (uid, name or path)' }] as const

async function loadPath(invocation: Invocation, uid: string): Promise<string> {
  await invocation.names.load({ groups: [uid] })
  return invocation.names.groupPath(uid)
}

async function publish(invocation: Invocation): Promise<void> {
  const uid = await resolveGroupUid(invocation, invocation.argument(0), 'FOLDER')
  const client = await invocation.client()
  const { anonymousIdentity, pullRole, repos, ...current } = await client.visibility.getVisibility({ uid })
  const path = await loadPath(invocation, uid)
  if (current.public) return invocation.output.notice(`${path} is public`)
  await invocation.prompt.confirm(
    `Publish ${path}? Anyone can then pull all images of ${plural(repos, 'repo')} in it, and of those that are created later.`,
  )
  await client.roleBindings.create(uid, { identityUid: anonymousIdentity, roleUid: pullRole })
  invocation.output.notice(`published ${path}: anyone can pull without a token`)
}

async function unpublish(invocation: Invocation): Promise<void> {
  const uid = await resolveGroupUid(invocation, invocation.argument(0), 'FOLDER')
  const client = await invocation.client()
  const { bindings } = await client.visibility.getVisibility({ uid })
  const path = await loadPath(invocation, uid)
  const own = bindings.filter(({ group }) => group === uid)
  if (own.some((binding) => binding.uid === ''))
    throw new UsageError(`unpublishing ${path} requires role_bindings.list in it`)
  if (own.length > 0) {
    await invocation.prompt.confirm(`Make ${path} private? Pulls without a token fail from then on.`)
    for (const binding of own) await client.roleBindings.delete(binding.uid)
  }
  const after = await client.visibility.getVisibility({ uid })
  const above = after.bindings.map(({ groupName }) => groupName).join(', ')
  invocation.output.notice(
    after.public ? `${path} is still public through ${above}: unpublish that as well` : `${path} is private`,
  )
}

export const visibilityCommands: readonly CommandDeclaration[] = [
  {
    name: 'visibility',
    summary: 'Show whether anyone can pull from a repo without a token',
    parameters: repoParameters,
    examples: ['berth images repos visibility my-org/app'],
    async run(invocation) {
      const uid = await resolveRepo(invocation)
      await invocation.output.item(
        await (await invocation.client()).visibility.getVisibility({ uid }),
        visibilityView,
      )
    },
  },
  {
    name: 'publish',
    summary: 'Let anyone pull from all repos of a folder without a token',
    parameters: folderParameters,
    options: [yesOption],
    notes:
      'Binds the role registry.pull to the anonymous identity in the folder. A repo alone cannot be published.',
    examples: ['berth images repos publish my-org/public --yes'],
    run: publish,
  },
  {
    name: 'unpublish',
    summary: 'Require a token again to pull from the repos of a folder',
    parameters: folderParameters,
    options: [yesOption],
    examples: ['berth images repos unpublish my-org/public --yes'],
    run: unpublish,
  },
]
