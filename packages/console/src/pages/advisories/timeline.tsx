import { eventState, formatReason, newestFirst } from '@berth/advisory-formats/history/advisory-states.ts'
import type { Advisory, AdvisoryEvent } from '@berth/client'
import { Badge } from '../../components/badge.tsx'
import { Time } from '../../components/time.tsx'
import { StateBadge } from './states.tsx'

/** The events of an advisory, oldest first. */
export function Timeline({ advisory }: { readonly advisory: Advisory }) {
  const events = newestFirst(advisory).toReversed()
  if (events.length === 0) return <p className="muted">This advisory has no events.</p>
  return (
    <ol className="timeline" aria-label="History">
      {events.map((event) => (
        <li key={event.uid}>
          <div className="timeline-head">
            <StateBadge state={eventState(event)} />
            {event.reviewState !== 'REVIEW_STATE_APPROVED' && (
              <Badge tone="warn">{reviewNames[event.reviewState] ?? 'Review unknown'}</Badge>
            )}
            <Time value={event.createTime} />
            <Actors event={event} />
          </div>
          {detailsOf(event).map((text) => (
            <p key={text} className="untrusted-text">
              <bdi>{text}</bdi>
            </p>
          ))}
        </li>
      ))}
    </ol>
  )
}

const reviewNames: Readonly<Record<string, string>> = {
  REVIEW_STATE_PENDING: 'Waiting for a reviewer',
  REVIEW_STATE_REQUEST_CHANGES: 'Changes requested',
  REVIEW_STATE_REJECTED: 'Rejected',
}

function Actors({ event: { author, reviewer } }: { readonly event: AdvisoryEvent }) {
  if (author === '' && reviewer === '') return null
  return (
    <span className="muted">
      {author !== '' && (
        <>
          by <bdi>{author}</bdi>
        </>
      )}
      {reviewer !== '' && (
        <>
          {author === '' ? '' : ', '}reviewed by <bdi>{reviewer}</bdi>
        </>
      )}
    </span>
  )
}

/** What an event says, in paragraphs; each once. */
function detailsOf(event: AdvisoryEvent): string[] {
  const { detection, fixed, patched, falsePositiveDetermination: notAffected } = event
  const scan = detection?.scanv1
  const found = scan && [
    `${scan.component} ${scan.componentVersion}`.trim(),
    scan.componentLocation && `at ${scan.componentLocation}`,
    scan.artifactVersion && `in version ${scan.artifactVersion} of the package`,
  ]
  const texts = [
    scan && `Found by ${scan.scanner || 'a scanner'}: ${found?.filter(Boolean).join(' ')}`,
    detection?.nvdapi && `Found in the NVD: ${detection.nvdapi.cpeFound || detection.nvdapi.cpeSearched}`,
    detection?.manual && 'Found by hand',
    fixed && `Fixed in version ${fixed.fixedVersion}`,
    fixed?.note,
    patched && patched.patchedVersions.length > 0 && `Patched in ${patched.patchedVersions.join(', ')}`,
    patched?.note,
    notAffected && reasonOf(notAffected.type),
    notAffected?.note,
    event.truePositiveDetermination?.note,
    event.analysisNotPlanned?.note,
    event.fixNotPlanned?.note,
    event.pendingUpstreamFix?.note,
    event.issue && `See ${event.issue}`,
  ]
  return [...new Set(texts.filter((text) => typeof text === 'string' && text !== ''))] as string[]
}

function reasonOf(type: string): string | undefined {
  const reason = formatReason(type)
  return reason === '' ? undefined : `Reason: ${reason}`
}
