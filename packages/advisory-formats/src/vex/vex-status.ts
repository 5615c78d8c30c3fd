import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositiveType } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { EventRecord } from '../advisory-record.ts'
import { createEventType, manualDetection } from '../reading/event-history.ts'

/** Maps VEX statuses and justifications, which several formats use, to event types. */

export interface VexStatement {
  /** Why a product is not affected; '' for none. */
  readonly justification: string
  readonly note: string
  readonly fixedVersion: string
}

const falsePositiveTypes = new Map([
  ['component_not_present', FalsePositiveType.COMPONENT_VULNERABILITY_MISMATCH],
  // The schema has three types for this label; this one has the same meaning.
  ['vulnerable_code_not_present', FalsePositiveType.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE],
  ['vulnerable_code_not_in_execute_path', FalsePositiveType.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH],
  [
    'vulnerable_code_cannot_be_controlled_by_adversary',
    FalsePositiveType.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY,
  ],
  ['inline_mitigations_already_exist', FalsePositiveType.INLINE_MITIGATIONS_EXIST],
])

export function isJustification(label: string): boolean {
  return falsePositiveTypes.has(label)
}

const vexStatuses = ['under_investigation', 'affected', 'fixed', 'not_affected'] as const
export type VexStatus = (typeof vexStatuses)[number]

export function isVexStatus(status: string): status is VexStatus {
  return (vexStatuses as readonly string[]).includes(status)
}

/** An unknown justification is treated as none. */
export function vexEventType(
  status: VexStatus,
  { justification, note, fixedVersion }: VexStatement,
): EventRecord['type'] {
  switch (status) {
    case 'under_investigation':
      return manualDetection()
    case 'affected':
      return createEventType({ case: 'truePositiveDetermination', value: { note } })
    case 'fixed':
      return createEventType({ case: 'fixed', value: { fixedVersion, note } })
    case 'not_affected': {
      const type = falsePositiveTypes.get(justification) ?? FalsePositiveType.UNSPECIFIED
      return createEventType({ case: 'falsePositiveDetermination', value: { type, note } })
    }
  }
}
