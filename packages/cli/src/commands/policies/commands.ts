import type { CommandBody } from '../../invocation/command-declaration.ts'
import { bindingCommands, decisionsCommand, overridesGroup } from './bindings.ts'
import { policyCommands } from './policies.ts'

export const policiesCommands: CommandBody = {
  commands: [...policyCommands, ...bindingCommands, decisionsCommand, overridesGroup],
}
