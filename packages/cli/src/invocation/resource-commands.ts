import type { BerthClient } from '@berth/client/berth.ts'
import type { View } from '../output/output.ts'
import type { CommandDeclaration, OptionDeclaration, Parameter } from './command-declaration.ts'
import type { Invocation } from './invocation.ts'
import { yesOption } from './options.ts'

/** A resource of the API. Its list, describe and delete commands derive from this declaration. */
export interface Resource<T extends object> {
  /** `identity provider`. */
  readonly noun: string
  readonly plural: string
  /** The command group: `berth iam identity-providers`. */
  readonly command: string
  /** Name of a resource in examples. */
  readonly example: string
  readonly parameter: Parameter
  readonly view: View<T>
  readonly list: (invocation: Invocation) => Promise<AsyncIterable<T>>
  readonly listOptions?: readonly OptionDeclaration[]
  /** Resolves the first argument. */
  readonly resolveUid: (invocation: Invocation) => Promise<string>
  readonly get: (client: BerthClient, uid: string) => Promise<T & { readonly name: string }>
  readonly delete: (client: BerthClient, uid: string) => Promise<unknown>
  /** What else a deletion does, for the confirmation prompt: `and its role bindings`. */
  readonly deleteEffect?: string
}

export interface ResourceCommands {
  readonly list: CommandDeclaration
  readonly describe: CommandDeclaration
  readonly delete: CommandDeclaration
}

export function resourceCommands<T extends object>(resource: Resource<T>): ResourceCommands {
  const { noun, plural, command, example, view } = resource
  const withArticle = `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
  const parameters = [resource.parameter]
  return {
    list: {
      name: 'list',
      aliases: ['ls'],
      summary: `List ${plural}`,
      options: resource.listOptions ?? [],
      examples: [`${command} list`, `${command} list -o json`],
      run: async (invocation) => invocation.output.list(await resource.list(invocation), view),
    },
    describe: {
      name: 'describe',
      aliases: ['get'],
      summary: `Show ${withArticle}`,
      parameters,
      examples: [`${command} describe ${example}`, `${command} describe ${example} -o yaml`],
      async run(invocation) {
        const uid = await resource.resolveUid(invocation)
        invocation.output.item(await resource.get(await invocation.client(), uid), view)
      },
    },
    delete: {
      name: 'delete',
      aliases: ['rm'],
      summary: `Delete ${withArticle}`,
      parameters,
      options: [yesOption],
      examples: [`${command} delete ${example} --yes`],
      run: (invocation) => deleteResource(invocation, resource),
    },
  }
}

/** Deletes the resource that the first argument names, after a confirmation. */
export async function deleteResource<T extends object>(
  invocation: Invocation,
  resource: Resource<T>,
): Promise<void> {
  const uid = await resource.resolveUid(invocation)
  const client = await invocation.client()
  const { name } = await resource.get(client, uid)
  const effect = resource.deleteEffect === undefined ? '' : ` ${resource.deleteEffect}`
  await invocation.prompt.confirm(`Delete the ${resource.noun} ${name} (${uid})${effect}?`)
  await resource.delete(client, uid)
  invocation.output.notice(`deleted ${name} (${uid})`)
}
