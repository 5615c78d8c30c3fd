import { useQuery } from '@tanstack/react-query'
import { eventQuery, type NamedEvent } from '../../api/queries/audit.ts'
import { hasStatus, messageOf } from '../../api/query-client.ts'
import { Equivalent, Id } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { InfoDialog } from '../../components/info-dialog.tsx'
import { Time } from '../../components/time.tsx'
import { actorName } from './audit-words.ts'
import { EventText, ResultBadge } from './event-text.tsx'

const NOT_FOUND = [400, 403, 404]

/** Every field of an event. Its uid is in the address. */
export function EventDialog({ uid, onClose }: { readonly uid: string; readonly onClose: () => void }) {
  const { data, error } = useQuery(eventQuery(uid))
  const isMissing = NOT_FOUND.some((status) => hasStatus(error, status))
  return (
    <InfoDialog title="Event" onClose={onClose}>
      <div className="dialog-text">
        {data !== undefined && <EventDetails named={data} />}
        {data === undefined && error === null && (
          <p className="muted" role="status">
            Loading the event…
          </p>
        )}
        {error !== null && (
          <p className="alert" role="alert">
            {isMissing ? 'The event does not exist, or you cannot see it.' : messageOf(error)}
          </p>
        )}
        <Equivalent command={`berth audit describe ${uid}`} />
      </div>
    </InfoDialog>
  )
}

function EventDetails({ named }: { readonly named: NamedEvent }) {
  const { event, names } = named
  const { actor, method, resourceUid, reason, requestId, address, issuer, subject, count, createTime } = event
  const id = (value: string, label: string) => (value === '' ? undefined : <Id value={value} label={label} />)
  const resource = names.get(resourceUid)
  return (
    <>
      <p>
        <EventText named={named} />
      </p>
      <Facts
        facts={[
          ['Result', <ResultBadge key="result" event={event} />],
          ['Reason', reason || undefined],
          [
            'Time',
            <span key="time">
              <Time value={createTime} />
              <span className="second">{createTime}</span>
            </span>,
          ],
          ['Who', actorName(actor, names)],
          ['Uid of the identity', actor === 'system' ? undefined : id(actor, 'the uid of the identity')],
          ['Method', <code key="method">{method}</code>],
          [
            'Resource',
            resource === undefined ? 'deleted, or not visible to you' : resource.path || resource.name,
          ],
          ['Uid of the resource', id(resourceUid, 'the uid of the resource')],
          ['Address', address || undefined],
          ['Request id', id(requestId, 'the request id')],
          ['Token issuer', issuer || undefined],
          ['Token subject', subject || undefined],
          ['Count', count > 1 ? `${count} equal calls within one second` : undefined],
        ]}
      />
    </>
  )
}
