import type { Identity } from '@berth/client/berth.ts'
import { createIdentityWithRoles } from '@berth/workloads/creation.ts'
import {
  MISSING,
  type PlatformField,
  type PlatformName,
  platformRule,
  platforms,
  type Rule,
} from '@berth/workloads/platforms.ts'
import type { OptionDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { descriptionOption, parentOption, readOptions } from '../../invocation/options.ts'
import { resolveGroupUid, resolveRoleUid } from '../../invocation/resource-lookup.ts'
import { identityView } from './identity-list.ts'

/** What the commands that create an identity share. */

const roleOption: OptionDeclaration = {
  flags: '--role <role>',
  summary: 'role to grant in the parent (repeatable)',
  repeatable: true,
}
export const creationOptions = [parentOption, descriptionOption, roleOption] as const
export const nameParameter = [{ name: 'NAME', summary: 'name' }] as const

/** Creates an identity and grants its roles. Deletes the identity if a role cannot be granted. */
export async function createIdentity(invocation: Invocation, rule: Rule): Promise<Identity> {
  const name = invocation.argument(0) || (await invocation.prompt.input('Name of the identity?', 'NAME'))
  const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
  const roleUids: string[] = []
  for (const role of invocation.optionValues('role'))
    roleUids.push(await resolveRoleUid(invocation, role, { group }))
  const client = await invocation.client()
  const identity = { ...rule, name, ...readOptions(invocation, 'description') }
  return createIdentityWithRoles(client, group, identity, roleUids)
}

/** Returns the rule of a platform that the options of its fields describe. */
export function readRule(invocation: Invocation, platform: PlatformName): Rule {
  const fields: readonly PlatformField[] = platforms[platform].fields
  const values = fields.map(({ name, flag }) => [name, invocation.option(optionName(flag))])
  const read = platformRule(platform, Object.fromEntries(values))
  if ('rule' in read) return read.rule
  const problems = Object.entries(read.problems)
  // What is missing first: on a terminal, the user is asked for it.
  const [name, problem] = problems.find(([, what]) => what === MISSING) ?? problems[0] ?? ['', '']
  throw new UsageError(`${fields.find((field) => field.name === name)?.flag ?? name} ${problem}`)
}

/** `--github-repo` is read as `githubRepo`. */
const optionName = (flag: string) =>
  flag.slice(2).replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Creates an identity and prints it. */
export async function runCreation(invocation: Invocation, rule: Rule): Promise<void> {
  await invocation.output.item(await createIdentity(invocation, rule), identityView(invocation.names))
}
