import { readFile } from 'node:fs/promises'
import type { Policy, PolicyDiagnostic } from '@berth/client/berth.ts'
import { filterItems } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { listCommand } from '../../invocation/list-command.ts'
import { descriptionOption, parentOption, scopeOptions, yesOption } from '../../invocation/options.ts'
import { readScope, resolveGroupUid } from '../../invocation/resource-lookup.ts'
import type { View } from '../../output/output.ts'
import { CommandFailed } from '../../session/access-token.ts'
import { resolvePolicy } from './lookup.ts'

/** Commands about policies themselves. */

const policySort = { name: 'name', created: 'created_at', updated: 'updated_at', id: 'id' } as const

export const policyParameter = { name: 'POLICY', summary: 'id or name' }

const isSystem = ({ policyType }: Policy) => policyType === 'POLICY_TYPE_SYSTEM'

const policyView: View<Policy> = {
  columns: [
    { title: 'NAME', kind: 'name', value: ({ name }) => name },
    { title: 'ID', kind: 'uid', value: ({ id }) => id, wide: true },
    { title: 'TYPE', value: (policy) => (isSystem(policy) ? 'system' : 'custom') },
    {
      title: 'PARAMETERS',
      value: ({ parameterSchemas }) =>
        parameterSchemas.map(({ name, required }) => (required ? name : `[${name}]`)).join(', '),
    },
    { title: 'DESCRIPTION', value: ({ description }) => description },
    { title: 'EXPRESSION', kind: 'long', value: ({ expression }) => expression, wide: true },
  ],
  id: ({ id }) => id,
  empty: 'no policies visible to you',
}

const expressionOptions = [
  { flags: '--expression <cel>', summary: 'CEL expression', conflicts: ['file'] },
  { flags: '--file <path>', summary: 'file that contains the CEL expression' },
] as const

async function readExpression(invocation: Invocation): Promise<string> {
  const expression = invocation.option('expression')
  const file = invocation.option('file')
  if (expression !== '') return expression
  if (file === '') throw new UsageError('--expression or --file is required')
  return readFile(file, 'utf8')
}

const diagnosticView: View<PolicyDiagnostic> = {
  columns: [
    { title: 'LINE', value: ({ line }) => (line === 0 ? '' : String(line)) },
    { title: 'COLUMN', value: ({ column }) => (column === 0 ? '' : String(column)) },
    { title: 'MESSAGE', kind: 'long', value: ({ message }) => message },
  ],
  id: ({ message }) => message,
}

async function validate(invocation: Invocation): Promise<void> {
  const expression = await readExpression(invocation)
  const client = await invocation.client()
  const result = await client.policies.validatePolicy({ expression, type: 'EXPRESSION_TYPE_CEL' })
  if (result.valid) {
    invocation.output.result(result, 'valid')
    return
  }
  await invocation.output.report(result, result.errors, diagnosticView)
  throw new CommandFailed('the expression is not valid')
}

export const policyCommands: readonly CommandDeclaration[] = [
  listCommand<Policy>({
    summary: 'List system policies and custom policies',
    options: [{ flags: '--custom', summary: 'only custom policies' }, ...scopeOptions],
    examples: ['berth policies list', 'berth policies list --custom -o wide'],
    view: () => policyView,
    serverSort: policySort,
    serverFilters: { name: 'name' },
    async items(invocation, request) {
      const client = await invocation.client()
      const all = client.policies.all({ orderBy: 'name', ...request, ...(await readScope(invocation)) })
      return invocation.flag('custom') ? filterItems(all, (policy) => !isSystem(policy)) : all
    },
  }),
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'Show a policy',
    parameters: [policyParameter],
    examples: ['berth policies describe highest-severity'],
    async run(invocation) {
      await invocation.output.item(
        await resolvePolicy(invocation, invocation.argument(0), 'POLICY'),
        policyView,
      )
    },
  },
  {
    name: 'create',
    summary: 'Create a custom policy',
    parameters: [{ name: 'NAME', summary: 'name' }],
    options: [...expressionOptions, parentOption, descriptionOption],
    examples: [
      `berth policies create releases --parent my-org --expression 'image.tags.exists(t, t.startsWith("v"))'`,
      'berth policies create no-root --parent my-org/team --file policy.cel',
    ],
    async run(invocation) {
      const expression = await readExpression(invocation)
      const name = invocation.argument(0) || (await invocation.prompt.input('Name of the policy?', 'NAME'))
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const client = await invocation.client()
      const description = invocation.option('description')
      await invocation.output.item(
        await client.policies.create(group, { name, expression, description }),
        policyView,
      )
    },
  },
  {
    name: 'validate',
    summary: 'Check a CEL expression without storing it',
    options: expressionOptions,
    notes: 'Exits with code 1 if the expression is not valid.',
    examples: ['berth policies validate --file policy.cel'],
    run: validate,
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'Delete a custom policy that is not in use',
    parameters: [policyParameter],
    options: [yesOption],
    examples: ['berth policies delete releases --yes'],
    async run(invocation) {
      const { id, name } = await resolvePolicy(invocation, invocation.argument(0), 'POLICY')
      await invocation.prompt.confirm(`Delete the policy ${name}?`)
      await (await invocation.client()).policies.delete(id)
      invocation.output.notice(`deleted ${name}`)
    },
  },
]
