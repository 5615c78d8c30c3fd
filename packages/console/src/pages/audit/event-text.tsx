import type { AuditEvent } from '@berth/client'
import type { NamedEvent } from '../../api/queries/audit.ts'
import { Badge } from '../../components/badge.tsx'
import { ResourceLink } from '../../components/resource-link.tsx'
import { actorName, describeEvent, resultName } from './audit-words.ts'

/** An event as a sentence, with links to what still exists. */
export function EventText({ named: { event, names } }: { readonly named: NamedEvent }) {
  const { action, resource } = describeEvent(event, names)
  const actor = names.get(event.actor)
  const name = actorName(event.actor, names)
  const isSelf = event.actor === event.resourceUid
  return (
    <span className="event-text">
      <bdi className="event-actor">
        {actor === undefined ? name : <ResourceLink resource={actor}>{name}</ResourceLink>}
      </bdi>{' '}
      <bdi>{action}</bdi>{' '}
      {isSelf && resource !== undefined ? (
        'themselves'
      ) : (
        <bdi>
          {resource === undefined ? (
            <code title={event.resourceUid}>{shortUid(event.resourceUid)}</code>
          ) : (
            <ResourceLink resource={resource}>{resource.path || resource.name}</ResourceLink>
          )}
        </bdi>
      )}
    </span>
  )
}

const SHORT_CHARS = 16

/** The end of a uid is unique. */
export const shortUid = (uid: string): string =>
  uid.length > SHORT_CHARS ? `…${uid.slice(-SHORT_CHARS)}` : uid || 'unknown'

export function ResultBadge({ event: { code } }: { readonly event: AuditEvent }) {
  const tone = code === 0 ? 'good' : code === DENIED ? 'bad' : 'warn'
  return <Badge tone={tone}>{resultName(code)}</Badge>
}

const DENIED = 7
