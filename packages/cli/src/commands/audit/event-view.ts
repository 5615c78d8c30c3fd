import type { AuditEvent } from '@berth/client/berth.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import { parentUid } from '../../invocation/resource-uids.ts'
import { idColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'

/** Names of result codes. */
export const resultNames: Readonly<Record<string, string>> = { 0: 'ok', 7: 'denied' }

export const resultOf = ({ code }: AuditEvent) => resultNames[code] ?? `code ${code}`

/** `chainguard.platform.iam.v2beta1.GroupsService/CreateGroup`: `CreateGroup`. */
export const methodOf = ({ method }: AuditEvent) => method.slice(method.lastIndexOf('/') + 1)

export const actorOf = ({ actor }: AuditEvent, names: ResourceNames) => names.identityName(actor)

export const eventView = (names: ResourceNames): View<AuditEvent> => ({
  columns: [
    { title: 'TIME', kind: 'time', value: ({ createTime = '' }) => createTime },
    { title: 'ACTOR', kind: 'name', value: (event) => actorOf(event, names) },
    { title: 'METHOD', kind: 'name', value: methodOf },
    { title: 'RESOURCE', kind: 'path', value: ({ resourceUid }) => names.resourcePath(resourceUid) },
    { title: 'RESULT', kind: 'name', value: resultOf },
    { title: 'REASON', kind: 'long', value: ({ reason }) => reason },
    { title: 'COUNT', value: ({ count }) => String(count), sortValue: ({ count }) => count, wide: true },
    { title: 'ADDRESS', value: ({ address }) => address, wide: true },
    { title: 'ISSUER', value: ({ issuer }) => issuer, wide: true },
    { title: 'SUBJECT', value: ({ subject }) => subject, wide: true },
    { title: 'REQUEST ID', value: ({ requestId }) => requestId, wide: true },
    { title: 'ACTOR ID', kind: 'uid', value: ({ actor }) => actor, wide: true },
    { title: 'RESOURCE ID', kind: 'uid', value: ({ resourceUid }) => resourceUid, wide: true },
    idColumn,
  ],
  empty: 'no events visible to you',
  load: (events) => names.load(referencesOf(events)),
})

/** The service of the method tells the type of the resource. */
function referencesOf(events: readonly AuditEvent[]) {
  const uids = (service: RegExp) =>
    events.filter(({ method }) => service.test(method)).map(({ resourceUid }) => resourceUid)
  return {
    groups: events.flatMap(({ resourceUid }) => [resourceUid, parentUid(resourceUid)]),
    roles: uids(/RolesService/),
    repos: uids(/Repo|registry/i),
    identities: [...events.map(({ actor }) => actor), ...uids(/Identities|sts|SecurityTokenService/i)],
  }
}
