import type { BerthClient } from '@berth/client/berth.ts'
import type { View } from '../output/output.ts'
import type { CommandDeclaration, OptionDeclaration, Parameter } from './command-declaration.ts'
import type { Invocation } from './invocation.ts'
import { type ListDeclaration, listCommand } from './list-command.ts'
import { yesOption } from './options.ts'
import type { ResourceNames } from './resource-names.ts'

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
  readonly view: (names: ResourceNames) => View<T>
  readonly list: ListDeclaration<T>['items']
  readonly listOptions?: readonly OptionDeclaration[]
  readonly serverSort?: ListDeclaration<T>['serverSort']
  readonly serverFilters?: ListDeclaration<T>['serverFilters']
  readonly defaultSort?: string
  /** Resolves the first argument. */
  readonly resolveUid: (invocation: Invocation) => Promise<string>
  readonly get: (client: BerthClient, uid: string) => Promise<T>
  readonly delete: (client: BerthClient, uid: string) => Promise<unknown>
  /** Names one resource in prompts and messages, after `view.load`: `my-org/team`. */
  readonly label: (item: T, names: ResourceNames) => string
  /** What else a deletion does, for the confirmation prompt: `and its role bindings`. */
  readonly deleteEffect?: string
  /** Default: `Delete the <noun>`, `deleted`. */
  readonly deleteVerbs?: { readonly question: string; readonly done: string }
}

export interface ResourceCommands {
  readonly list: CommandDeclaration
  readonly describe: CommandDeclaration
  readonly delete: CommandDeclaration
}

/** The list command of a resource, as a declaration that can be extended. */
export function resourceList<T extends object>(resource: Resource<T>): ListDeclaration<T> {
  const { plural, command, view, list, listOptions = [], serverSort, serverFilters, defaultSort } = resource
  return {
    summary: `List ${plural}`,
    options: listOptions,
    examples: [`${command} list`, `${command} list -o json`],
    view: ({ names }) => view(names),
    items: list,
    ...(serverSort !== undefined && { serverSort }),
    ...(serverFilters !== undefined && { serverFilters }),
    ...(defaultSort !== undefined && { defaultSort }),
  }
}

export function resourceCommands<T extends object>(resource: Resource<T>): ResourceCommands {
  const { noun, command, example, view } = resource
  const withArticle = `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
  const parameters = [resource.parameter]
  return {
    list: listCommand(resourceList(resource)),
    describe: {
      name: 'describe',
      aliases: ['get'],
      summary: `Show ${withArticle}`,
      parameters,
      examples: [`${command} describe ${example}`, `${command} describe ${example} -o yaml`],
      async run(invocation) {
        const uid = await resource.resolveUid(invocation)
        await invocation.output.item(
          await resource.get(await invocation.client(), uid),
          view(invocation.names),
        )
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
  const { names } = invocation
  const uid = await resource.resolveUid(invocation)
  const client = await invocation.client()
  const item = await resource.get(client, uid)
  await resource.view(names).load?.([item])
  const label = resource.label(item, names)
  const effect = resource.deleteEffect === undefined ? '' : ` ${resource.deleteEffect}`
  const { question = `Delete the ${resource.noun}`, done = 'deleted' } = resource.deleteVerbs ?? {}
  await invocation.prompt.confirm(`${question} ${label}${effect}?`)
  await resource.delete(client, uid)
  invocation.output.notice(`${done} ${label}`)
}
