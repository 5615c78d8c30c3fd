import { listCommand } from '../../invocation/list-command.ts'
import { scopeOptions } from '../../invocation/options.ts'
import { readScope } from '../../invocation/resource-lookup.ts'
import { filterOptions, readFilters } from './filters.ts'
import { advisoryView } from './views.ts'

export const listAdvisoriesCommand = listCommand({
  summary: 'List advisories that match all filters',
  options: [...scopeOptions, ...filterOptions],
  examples: [
    'berth advisories list --cve CVE-2024-6119',
    'berth advisories list --origin openssl --state affected',
    'berth advisories list -q golang.org/x/net --event detected,affected -o csv',
    "berth advisories list --parent my-org --sort 'updated desc' --limit 20",
  ],
  view: () => advisoryView,
  serverSort: {
    id: 'advisory_id',
    package: 'artifact_name',
    component: 'component_name',
    created: 'created_at',
    updated: 'updated_at',
    uid: 'uid',
  },
  items: async (invocation, request) =>
    (await invocation.client()).advisories.all({
      ...request,
      ...(await readScope(invocation)),
      ...readFilters(invocation),
    }),
})
