import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import { parseResourceLimit, type ResourceKind, resourceKinds } from '../../api/resource-limits.ts'
import { UsageError } from '../../config/setup-errors.ts'
import { organizationSettings, type StatusName, statusNames } from '../../operator/organization-settings.ts'
import { jsonOption } from '../options.ts'
import { readConfigOrExit, withExistingInstallation } from '../with-installation.ts'

export const organizationCommand: CommandDeclaration = {
  name: 'organization',
  summary: 'Show the status, limits and usage of an organization, and change its status and limits',
  parameters: [{ name: 'ORGANIZATION', summary: 'uid or name', required: true }],
  options: [
    {
      flags: '--status <status>',
      summary: 'suspended denies access to all members, ready restores it',
      choices: statusNames,
    },
    {
      flags: '--limit <kind=n>',
      summary: 'maximum number of resources of a kind; none removes the limit (repeatable)',
      repeatable: true,
    },
    jsonOption,
  ],
  notes: `Kinds: ${resourceKinds.join(', ')}`,
  examples: [
    'berth admin organization my-org',
    'berth admin organization my-org --status suspended',
    'berth admin organization my-org --limit identities=500 --limit repos=none --json',
  ],
  run: ({ argument, optionIfSet, optionValues, output }) =>
    withExistingInstallation(readConfigOrExit(), async (installation) => {
      const limits = new Map(optionValues('limit').map(parseLimit))
      const status = optionIfSet('status') as StatusName | undefined
      const settings = await organizationSettings(installation, argument(0), { status, limits })
      const { uid, name, resourceLimits, usage } = settings
      const limitTexts = Object.entries(resourceLimits).map(([kind, n]) => `${kind}=${n}`)
      const usageTexts = Object.entries(usage).flatMap(([kind, n]) => (n === 0 ? [] : [`${kind}=${n}`]))
      output.result(
        settings,
        `organization  ${uid}  ${name}\nstatus        ${settings.status}\nlimits        ${limitTexts.join(' ') || 'none'}\nusage         ${usageTexts.join(' ') || 'none'}\n`,
      )
    }),
}

function parseLimit(text: string): [kind: ResourceKind, n: number | undefined] {
  const limit = parseResourceLimit(text)
  if (limit === undefined)
    throw new UsageError(
      `--limit: ${JSON.stringify(text)} must be KIND=NUMBER or KIND=none, where KIND is one of ${resourceKinds.join(', ')}`,
    )
  return [limit.kind, limit.n]
}
