import type { Advisory } from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { UsageError } from '../../invocation/invocation.ts'
import { scopeOptions } from '../../invocation/options.ts'
import { readScope } from '../../invocation/resource-lookup.ts'
import { filterOptions, readFilters } from './filters.ts'
import { advisoryView } from './views.ts'

export const listCommand: CommandDeclaration = {
  name: 'list',
  aliases: ['ls'],
  summary: 'List advisories that match all filters',
  options: [
    ...scopeOptions,
    ...filterOptions,
    {
      flags: '--sort <order>',
      summary: 'sort order, such as updated_at desc or artifact_name (default: uid)',
    },
    { flags: '--limit <n>', summary: 'maximum number of advisories' },
  ],
  examples: [
    'berth advisories list --cve CVE-2024-6119',
    'berth advisories list --origin openssl --state affected',
    'berth advisories list -q golang.org/x/net --event detected,affected -o csv',
    "berth advisories list --parent my-org --sort 'updated_at desc' --limit 20",
  ],
  async run(invocation) {
    const client = await invocation.client()
    const orderBy = invocation.option('sort')
    const found = client.advisories.all({
      ...(await readScope(invocation)),
      ...readFilters(invocation),
      ...(orderBy !== '' && { orderBy }),
    })
    await invocation.output.list(takeLimit(found, invocation.option('limit')), advisoryView)
  },
}

async function* takeLimit(found: AsyncIterable<Advisory>, text: string): AsyncGenerator<Advisory> {
  if (text !== '' && !/^[1-9][0-9]{0,8}$/.test(text))
    throw new UsageError(`--limit: ${JSON.stringify(text)} must be a positive integer`)
  let left = text === '' ? Number.POSITIVE_INFINITY : Number(text)
  for await (const advisory of found) {
    yield advisory
    if (--left === 0) return
  }
}
