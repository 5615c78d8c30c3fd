import type { AdvisoryPublication, AdvisoryPublicationInput } from '@berth/client/berth.ts'
import type { CommandGroup, OptionDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { yesOption } from '../../invocation/options.ts'
import { resolveGroupUid } from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import { idColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'
import { feedUrl } from './export.ts'

/** How a group publishes its advisories: visibility, and metadata of the feeds. */

const view = (api: string, names: ResourceNames): View<AdvisoryPublication> => ({
  columns: [
    { title: 'GROUP', kind: 'path', value: ({ uid }) => names.groupPath(uid) },
    { ...idColumn, title: 'GROUP ID' },
    { title: 'PUBLIC', value: (publication) => publicText(publication, names) },
    { title: 'CHANGED', kind: 'time', value: ({ changeTime = '' }) => changeTime },
    {
      title: 'REPOSITORY',
      value: ({ securityDatabase: of }) => [of?.urlprefix, of?.reponame].filter(Boolean).join('/'),
    },
    { title: 'ECOSYSTEM', value: ({ distribution }) => distribution?.ecosystem ?? '' },
    { title: 'ARCHITECTURES', value: ({ securityDatabase: of }) => of?.archs.join(', ') ?? '', wide: true },
    { title: 'NAMESPACE', value: ({ distribution }) => distribution?.namespace ?? '', wide: true },
    { title: 'FEEDS', value: ({ uid }) => feedUrl(api, uid, ''), wide: true },
  ],
  load: (publications) =>
    names.load({ groups: publications.flatMap(({ uid, publicThrough }) => [uid, publicThrough]) }),
})

const publicationView = (invocation: Invocation) =>
  view((invocation as AuthInvocation).settings.api, invocation.names)

function publicText({ uid, publicThrough }: AdvisoryPublication, names: ResourceNames): string {
  if (publicThrough === '') return 'no'
  return publicThrough === uid ? 'yes' : `yes, through ${names.groupPath(publicThrough)}`
}

const parent: OptionDeclaration = { flags: '--parent <group>', summary: 'organization or folder' }

const repositoryOptionNames = ['apkurl', 'reponame', 'urlprefix', 'distroversion'] as const
const distributionOptionNames = ['ecosystem', 'namespace'] as const

/** Merges the given options into the current publication: the server replaces each part as a whole. */
function readPatch(invocation: Invocation, current: AdvisoryPublication): Partial<AdvisoryPublicationInput> {
  const given = (names: readonly string[]) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = invocation.optionIfSet(name)
        return value === undefined ? [] : [[name, value]]
      }),
    )
  const archs = invocation.optionValues('arch')
  const database = { ...given(repositoryOptionNames), ...(archs.length > 0 && { archs }) }
  const named = given(distributionOptionNames)
  return {
    ...(invocation.flag('public') && { public: true }),
    ...(invocation.flag('private') && { public: false }),
    ...(Object.keys(database).length > 0 && {
      securityDatabase: { ...current.securityDatabase, ...database },
    }),
    ...(Object.keys(named).length > 0 && { distribution: { ...current.distribution, ...named } }),
  }
}

export const publicationGroup: CommandGroup = {
  name: 'publication',
  summary: 'Manage the publication of advisories for scanners',
  commands: [
    {
      name: 'describe',
      aliases: ['get'],
      summary: 'Show the publication settings of a group',
      options: [parent],
      examples: ['berth advisories publication describe --parent my-org -o yaml'],
      async run(invocation) {
        const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
        const client = await invocation.client()
        await invocation.output.item(
          await client.advisoryPublications.getAdvisoryPublication(group),
          publicationView(invocation),
        )
      },
    },
    {
      name: 'update',
      summary: 'Change the publication settings of a group',
      options: [
        parent,
        {
          flags: '--public',
          summary: 'readable by anyone without authentication, including subfolders',
          conflicts: ['private'],
        },
        { flags: '--private', summary: "readable by anyone who can list the group's advisories" },
        { flags: '--urlprefix <url>', summary: 'security database: URL prefix of the repositories' },
        { flags: '--reponame <name>', summary: 'security database: repository name' },
        { flags: '--arch <names>', summary: 'security database: architectures', repeatable: true },
        { flags: '--apkurl <template>', summary: 'security database: URL template of a package' },
        { flags: '--distroversion <version>', summary: 'security database: distribution version' },
        { flags: '--ecosystem <name>', summary: 'OSV ecosystem of apk packages' },
        { flags: '--namespace <name>', summary: 'package URL namespace of apk packages' },
        yesOption,
      ],
      examples: [
        'berth advisories publication update --parent my-org --public',
        'berth advisories publication update --parent my-org --urlprefix https://packages.example.com --arch x86_64,aarch64',
      ],
      async run(invocation) {
        // --parent has no default here.
        const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent GROUP')
        const client = await invocation.client()
        const current = await client.advisoryPublications.getAdvisoryPublication(group)
        const patch = readPatch(invocation, current)
        if (Object.keys(patch).length === 0)
          throw new UsageError('no changes given: specify at least one option; see --help')
        const question = `Publish the current and future advisories of ${invocation.option('parent') || group} and its subfolders to anyone?`
        if (patch.public === true && !current.public) await invocation.prompt.confirm(question)
        const changed = await client.advisoryPublications.updateAdvisoryPublication(group, patch)
        await invocation.names.load({ groups: [changed.publicThrough] })
        await invocation.output.item(changed, publicationView(invocation))
        if (patch.public === false && changed.publicThrough !== '')
          invocation.output.notice(
            `it is still public because its parent ${invocation.names.groupPath(changed.publicThrough)} is public`,
          )
      },
    },
  ],
}
