import type { Capability } from '@berth/client/berth.ts'
import { capabilityNames } from '@berth/contract/capabilities.ts'
import { UsageError } from '../../invocation/invocation.ts'

/** Converts capabilities between the name of the command line, `groups.list`, and of the API, `CAP_IAM_GROUPS_LIST`. */

export function capabilityName(capability: Capability): string {
  return capabilityNames.find(({ wire }) => wire === capability)?.name ?? capability
}

/** Throws a UsageError for an unknown capability. */
export function parseCapabilities(option: string, names: readonly string[]): Capability[] {
  return names.map((name) => {
    const known = capabilityNames.find((one) => one.name === name || one.wire === name)
    if (known === undefined)
      throw new UsageError(
        `${option}: ${JSON.stringify(name)} is not a capability; list them with berth iam roles capabilities list`,
      )
    return known.wire as Capability
  })
}
