import { AdvisoryEvent_FalsePositiveDetermination_TypeSchema as FalsePositiveTypeSchema } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'

/** `VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE` becomes `vulnerable code not included in package`; '' if unspecified. */
export function falsePositiveLabel(type: number): string {
  const name = FalsePositiveTypeSchema.values.find(({ number }) => number === type)?.localName ?? ''
  return name === 'UNSPECIFIED' || name === 'TYPE_UNSPECIFIED'
    ? ''
    : name
        .replace(/^TYPE_/, '')
        .replaceAll('_', ' ')
        .toLowerCase()
}
