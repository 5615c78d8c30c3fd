import { capabilityByName, capabilityName } from '@berth/contract/capabilities.ts'
import type { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { type FieldViolation, invalidArguments } from '../../api/errors.ts'
import type { Conversion } from './message-mapping.ts'

/** Maps capabilities to short names, such as `groups.list`; newer services use an enum. */
export const capabilityNames: Conversion = {
  toV2(names) {
    const wrong: FieldViolation[] = []
    const capabilities = (names as string[]).map((name, at) => {
      const capability = capabilityByName(name)
      if (capability === undefined)
        wrong.push({ field: `capabilities[${at}]`, description: 'must be the name of a capability' })
      return capability
    })
    if (wrong.length > 0) throw invalidArguments(wrong)
    return capabilities
  },
  // A capability without a name cannot be in a role.
  toV1: (capabilities) =>
    (capabilities as Capability[]).flatMap((capability) => capabilityName(capability) ?? []),
}
