import type { ParameterSchema, Policy } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { isNotFound, resolveGroupUid, resolveRepoUid } from '../../invocation/resource-lookup.ts'
import { isUid } from '../../invocation/resource-uids.ts'

/** Resolves what commands about policies name, and reads the values of parameters. */

/** Finds a policy by id or name; a system policy wins over a custom one. */
export async function resolvePolicy(invocation: Invocation, word: string, missing: string): Promise<Policy> {
  const client = await invocation.client()
  const all = (name?: string) =>
    toArray(client.policies.all(name === undefined ? {} : isUid(name) ? { uidp: { ids: [name] } } : { name }))
  if (word === '')
    return invocation.prompt.select('Which policy?', missing, async () =>
      (await all()).map((policy) => ({ name: policy.name, description: policy.description, value: policy })),
    )
  // A system policy has a root of its own, which `ids` does not reach.
  const listed = await all(word)
  const found = listed.length > 0 ? listed : (await all()).filter(({ id }) => id === word)
  const system = found.find(({ policyType }) => policyType === 'POLICY_TYPE_SYSTEM')
  const [one, ...more] = system === undefined ? found : [system]
  if (one === undefined)
    throw new UsageError(`policy ${JSON.stringify(word)} not found or not visible to you`)
  if (more.length > 0)
    throw new UsageError(
      `${JSON.stringify(word)} matches several: ${found.map(({ id }) => id).join(', ')}; use the id`,
    )
  return one
}

/** Resolves an organization, a folder or a repo by uid or path. */
export async function resolveTarget(invocation: Invocation, word: string, missing: string): Promise<string> {
  if (isUid(word)) return word
  try {
    return await resolveGroupUid(invocation, word, missing)
  } catch (error) {
    if (!isNotFound(error) || !word.includes('/')) throw error
    return resolveRepoUid(invocation, word, missing)
  }
}

export type ParameterValues = Record<string, string | number | boolean | string[]>

/**
 * Reads `NAME=VALUE` by the types of the parameters. The option splits values at commas, so a part without a name belongs to the list before it:
 * `patterns=v*,release-*`.
 */
export function readParameters(
  parts: readonly string[],
  schemas: readonly ParameterSchema[],
): ParameterValues {
  const texts = new Map<string, string[]>()
  let last: string[] | undefined
  for (const part of parts) {
    const [, name = '', value = ''] = /^([a-z][a-z0-9_]*)=(.*)$/s.exec(part) ?? []
    if (name === '' && last === undefined)
      throw new UsageError(`--parameter ${JSON.stringify(part)} must be NAME=VALUE`)
    if (name === '') last?.push(part)
    else {
      last = [...(texts.get(name) ?? []), value]
      texts.set(name, last)
    }
  }
  return Object.fromEntries([...texts].map(([name, values]) => [name, readValue(name, values, schemas)]))
}

function readValue(name: string, values: readonly string[], schemas: readonly ParameterSchema[]) {
  const schema = schemas.find((one) => one.name === name)
  if (schema === undefined)
    throw new UsageError(
      `the policy has no parameter ${name}: it has ${schemas.map((one) => one.name).join(', ')}`,
    )
  if (schema.type === 'PARAMETER_TYPE_STRING_LIST') return [...values]
  const text = values.join(',')
  if (schema.type === 'PARAMETER_TYPE_STRING') return text
  if (schema.type === 'PARAMETER_TYPE_BOOLEAN') {
    if (text !== 'true' && text !== 'false') throw new UsageError(`${name} must be true or false`)
    return text === 'true'
  }
  const number = Number(text)
  if (!Number.isSafeInteger(number) || text.trim() === '')
    throw new UsageError(`${name} must be a whole number`)
  return number
}
