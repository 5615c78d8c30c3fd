import type { CommandGroup } from '@berth/cli/invocation/command-declaration.ts'
import type { View } from '@berth/cli/output/output.ts'
import { limits } from '../../config/limits.ts'
import type { Installation } from '../../installation/installation.ts'
import { listOrganizations, type OrganizationOverview } from '../../operator/organization-list.ts'
import { jsonOption } from '../options.ts'
import { installationList } from '../with-installation.ts'

type OrganizationLine = ReturnType<typeof organizationLine>

/** The fields of `--json`. */
function organizationLine({
  uid,
  name,
  isSuspended,
  createdMs,
  owners,
  usage,
  ownLimits,
}: OrganizationOverview) {
  return {
    uid,
    name,
    status: isSuspended ? 'suspended' : 'ready',
    createTime: new Date(createdMs).toISOString(),
    owners: owners.map((owner) => ({ uid: owner.uid, name: owner.name, email: owner.email })),
    usage,
    resourceLimits: ownLimits,
  }
}

const view: View<OrganizationLine> = {
  columns: [
    { title: 'NAME', kind: 'name', value: ({ name }) => name },
    { title: 'STATUS', value: ({ status }) => status },
    {
      title: 'OWNERS',
      value: ({ owners }) => owners.map(({ uid, name, email }) => email || name || uid).join(', '),
    },
    { title: 'REPOS', value: ({ usage }) => String(usage.repos ?? 0) },
    { title: 'IDENTITIES', value: ({ usage }) => String(usage.identities ?? 0) },
    { title: 'MIB', value: ({ usage }) => String(usage.storage_mib ?? 0) },
    { title: 'CREATED', kind: 'time', value: ({ createTime }) => createTime },
    { title: 'UID', kind: 'uid', value: ({ uid }) => uid },
  ],
  id: ({ uid }) => uid,
  empty: 'no organizations match',
}

/** `berth admin organizations`: what the console shows to operators. */
export const organizationsGroup: CommandGroup = {
  name: 'organizations',
  summary: 'List organizations with their owners and usage',
  commands: [
    installationList(
      {
        summary: 'List organizations by name',
        options: [jsonOption],
        examples: [
          'berth admin organizations list',
          'berth admin organizations list --filter name~acme',
          'berth admin organizations list --filter status=suspended --json',
        ],
        view: () => view,
      },
      async ({ store }) => (await allOrganizations(store)).map(organizationLine),
    ),
  ],
}

async function allOrganizations(store: Installation['store']): Promise<readonly OrganizationOverview[]> {
  const all: OrganizationOverview[] = []
  for (;;) {
    const last = all.at(-1)
    const page = await listOrganizations(
      store,
      {},
      {
        max: limits.pageSizeMax,
        ...(last && { after: [last.name] }),
      },
    )
    all.push(...page)
    if (page.length < limits.pageSizeMax) return all
  }
}
