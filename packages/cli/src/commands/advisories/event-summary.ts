import { formatReason } from '@berth/advisory-formats/history/advisory-states.ts'
import type { AdvisoryEvent } from '@berth/client/berth.ts'

/** Summarizes an event in one line. */
export function eventSummary(event: AdvisoryEvent): string {
  const { detection, falsePositiveDetermination: notAffected } = event
  const scan = detection?.scanv1
  const parts = [
    event.fixed && `in ${event.fixed.fixedVersion}`,
    scan && `by ${scan.scanner}: ${scan.component} ${scan.componentVersion} at ${scan.componentLocation}`,
    detection?.nvdapi && `by the NVD: ${detection.nvdapi.cpeFound}`,
    notAffected && formatReason(notAffected.type),
    notAffected?.note,
    event.truePositiveDetermination?.note,
    event.analysisNotPlanned?.note,
    event.fixNotPlanned?.note,
    event.pendingUpstreamFix?.note,
    event.issue && `see ${event.issue}`,
  ]
  return parts.filter(Boolean).join('; ')
}
