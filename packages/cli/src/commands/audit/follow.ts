import type { AuditEvent, ListAuditEventsRequest } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { formatTime } from '../../output/times.ts'
import { actorOf, eventView, methodOf, resultOf } from './event-view.ts'

const POLL_MS = 2000

/** Events are visible a moment after their time. */
const OVERLAP_MS = 10_000

/** Prints events as they happen, until the command is stopped. Without --since, it starts now. */
export async function followEvents(invocation: Invocation, filter: ListAuditEventsRequest): Promise<never> {
  const client = await invocation.client()
  const startMs = filter.since === undefined ? Date.now() : Date.parse(filter.since)
  let seen = new Set<string>()
  let sinceMs = startMs
  for (;;) {
    const since = new Date(Math.max(startMs, sinceMs - OVERLAP_MS)).toISOString()
    const events = await toArray(client.audit.all({ ...filter, since, orderBy: 'created_at' }))
    const fresh = events.filter(({ uid }) => !seen.has(uid))
    await printEvents(invocation, fresh)
    seen = new Set(events.map(({ uid }) => uid))
    sinceMs = Math.max(sinceMs, ...events.map(({ createTime = '' }) => Date.parse(createTime)))
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

async function printEvents({ output, names }: Invocation, events: readonly AuditEvent[]): Promise<void> {
  if (output.isForPeople) await eventView(names).load?.(events)
  for (const event of events) output.line(output.isForPeople ? formatEvent(event) : JSON.stringify(event))

  function formatEvent(event: AuditEvent): string {
    const resource = names.resourcePath(event.resourceUid)
    const parts = [actorOf(event, names), methodOf(event), resource, resultOf(event), event.reason]
    return [formatTime(event.createTime ?? ''), ...parts].filter((text) => text !== '').join('  ')
  }
}
