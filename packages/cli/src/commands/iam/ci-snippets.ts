import type { Identity } from '@berth/client/berth.ts'
import { createSnippet, type SnippetSystem } from '@berth/workloads/snippets.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { parentUid } from '../../invocation/resource-uids.ts'
import { loadYaml } from '../../output/yaml.ts'

/** Returns the workflow for an identity, as YAML. */
export async function snippetOf(
  { settings, names }: AuthInvocation,
  system: SnippetSystem,
  identity: Identity,
): Promise<string> {
  const group = parentUid(identity.uid)
  await names.load({ groups: [group] })
  return createSnippet(system, identity, {
    addresses: settings,
    groupPath: names.groupPath(group),
    stringify: loadYaml().stringify,
  })
}
