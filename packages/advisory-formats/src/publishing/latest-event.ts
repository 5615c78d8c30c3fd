import {
  type AdvisoryEvent,
  ReviewState,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'

/** The newest approved event; of several with the same time, the last in the list. */
export function latestApprovedEvent(events: readonly AdvisoryEvent[]): AdvisoryEvent | undefined {
  let latest: AdvisoryEvent | undefined
  let latestMs = Number.NEGATIVE_INFINITY
  for (const event of events) {
    const ms = event.createTime === undefined ? 0 : timestampMs(event.createTime)
    if (event.reviewState !== ReviewState.APPROVED || ms < latestMs) continue
    latest = event
    latestMs = ms
  }
  return latest
}
