import type { Capability } from '#gen/capabilities/capabilities_pb.js'
import { capabilityByName, capabilityName } from '../core/capabilities.ts'
import { type FieldViolation, invalidArguments } from '../core/errors.ts'
import type { Conversion } from './wording.ts'

/** Capabilities by their short names, such as `groups.list`, where newer services have an enum. */
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
  // One that has no name can be in no role.
  toV1: (capabilities) =>
    (capabilities as Capability[]).flatMap((capability) => capabilityName(capability) ?? []),
}
