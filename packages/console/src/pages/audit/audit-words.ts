import type { AuditEvent, Resource } from '@berth/client'
import { OPERATOR } from '../../api/queries/choices.ts'
import type { ResourceNames } from '../../api/queries/resources.ts'

/** Says what an event is, in words. The names of what still exists and the user can see are known; for the rest there is the uid. */

export interface EventWords {
  /** For example "created the repository". The name of the resource follows. */
  readonly action: string
  /** What the action is about; undefined if it is not known, and only its uid is. */
  readonly resource: Resource | undefined
  /** Follows the resource. */
  readonly rest: string
}

interface Verb {
  readonly past: string
  readonly infinitive: string
}

const verbs: Readonly<Record<string, Verb>> = {
  Create: { past: 'created', infinitive: 'create' },
  Update: { past: 'changed', infinitive: 'change' },
  Delete: { past: 'deleted', infinitive: 'delete' },
  BatchCreate: { past: 'created', infinitive: 'create' },
  BatchDelete: { past: 'deleted', infinitive: 'delete' },
  Import: { past: 'imported', infinitive: 'import' },
  Sync: { past: 'synchronized', infinitive: 'synchronize' },
  Apply: { past: 'applied', infinitive: 'apply' },
  Get: { past: 'read', infinitive: 'read' },
  List: { past: 'listed', infinitive: 'list' },
  Put: { past: 'pushed', infinitive: 'push' },
  Push: { past: 'pushed', infinitive: 'push' },
  Mount: { past: 'mounted', infinitive: 'mount' },
  Preview: { past: 'previewed', infinitive: 'preview' },
  Check: { past: 'checked', infinitive: 'check' },
  Send: { past: 'sent', infinitive: 'send' },
  Register: { past: 'registered', infinitive: 'register' },
}

/** Methods that a verb and a noun would not describe. */
const phrases: Readonly<Record<string, Verb>> = {
  Exchange: { past: 'got a token as', infinitive: 'get a token as' },
  ExchangeRefreshToken: { past: 'renewed a token as', infinitive: 'renew a token as' },
  RefreshToken: { past: 'renewed a token as', infinitive: 'renew a token as' },
  RefreshTokenReuse: { past: 'used a refresh token again as', infinitive: 'use a refresh token again as' },
  Validate: { past: 'checked a token', infinitive: 'check a token' },
  AcceptReceivedInvite: { past: 'accepted an invite to', infinitive: 'accept an invite to' },
  AcceptGroupInvite: { past: 'accepted an invite to', infinitive: 'accept an invite to' },
  RequestGroupAccess: { past: 'requested access to', infinitive: 'request access to' },
  Provider: { past: 'signed in as', infinitive: 'sign in as' },
  CreateTag: { past: 'set the tag', infinitive: 'set the tag' },
  SendInvite: { past: 'sent an invite to', infinitive: 'send an invite to' },
  SendPasswordReset: { past: 'sent a password reset to', infinitive: 'send a password reset to' },
  CreateGroupInvite: { past: 'created an invite to', infinitive: 'create an invite to' },
  DeleteGroupInvite: { past: 'revoked an invite to', infinitive: 'revoke an invite to' },
  ImportAdvisoryDocuments: { past: 'imported advisories to', infinitive: 'import advisories to' },
  DeleteAdvisoryDocuments: { past: 'deleted advisories in', infinitive: 'delete advisories in' },
  ApplyRetention: { past: 'applied the retention policy of', infinitive: 'apply the retention policy of' },
  CreateRoleBinding: { past: 'granted a role in', infinitive: 'grant a role in' },
  BatchCreateRoleBindings: { past: 'granted roles in', infinitive: 'grant roles in' },
  UpdateRoleBinding: { past: 'changed a role in', infinitive: 'change a role in' },
  DeleteRoleBinding: { past: 'revoked a role in', infinitive: 'revoke a role in' },
}

/** What the methods of version 1 and of the registry call the resources. */
const nouns: Readonly<Record<string, string>> = {
  Group: 'folder',
  Groups: 'folders',
  Repo: 'repository',
  Repos: 'repositories',
  RepoReadme: 'README of',
  RepoPolicy: 'policy of',
  RegistrySettings: 'registry settings of',
  RepoTags: 'tags of',
}

const BINDING = 'RESOURCE_KIND_ROLE_BINDING'

export function describeEvent(event: AuditEvent, names: ResourceNames): EventWords {
  const { resourceUid } = event
  const isDenied = event.code !== 0
  const method = methodName(event)
  const resource = names.get(resourceUid)
  const verb = (phrase: Verb) => (isDenied ? `tried to ${phrase.infinitive}` : phrase.past)
  if (method === 'CreateRoleBinding' && resource?.kind === BINDING)
    return { action: `granted the role ${resource.name} to ${resource.detail} in`, resource, rest: '' }
  if (method === 'UpdateRoleBinding' && resource?.kind === BINDING)
    return { action: `gave ${resource.detail} the role ${resource.name} in`, resource, rest: '' }
  const phrase = phrases[method]
  if (phrase !== undefined)
    return { action: verb(phrase), resource: resource ?? containerOf(event, names), rest: '' }
  const [, name = '', noun = ''] = METHOD.exec(method) ?? []
  const known = verbs[name]
  if (known === undefined)
    return { action: isDenied ? `tried to call ${method} on` : `called ${method} on`, resource, rest: '' }
  // A new resource is denied in the group that would contain it.
  const isContainer = isDenied && /^(Create|BatchCreate|List)/.test(name)
  const object = nounOf(noun, resource, isContainer)
  const article = noun.endsWith('s') && !isContainer ? '' : isContainer ? articleFor(object) : 'the '
  return { action: `${verb(known)} ${article}${object}${isContainer ? ' in' : ''}`, resource, rest: '' }
}

const METHOD = /^(BatchCreate|BatchDelete|[A-Z][a-z]+)([A-Za-z]*)$/

const articleFor = (noun: string): string => (noun.endsWith('s') ? '' : /^[aeiou]/.test(noun) ? 'an ' : 'a ')

function nounOf(noun: string, resource: Resource | undefined, isContainer: boolean): string {
  if (noun === 'Group' && !isContainer && resource?.kind === 'RESOURCE_KIND_ORGANIZATION')
    return 'organization'
  return nouns[noun] ?? (noun.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase() || 'resource')
}

/** The group that contained what no longer exists. */
function containerOf({ resourceUid }: AuditEvent, names: ResourceNames): Resource | undefined {
  return names.get(parentUid(resourceUid))
}

const parentUid = (uid: string): string => uid.slice(0, Math.max(uid.lastIndexOf('/'), 0))

/** `chainguard.platform.iam.v2beta1.GroupsService/CreateGroup`: `CreateGroup`. Version 1 has the resource in the service. */
export function methodName({ method }: Pick<AuditEvent, 'method'>): string {
  const at = method.lastIndexOf('/')
  const name = method.slice(at + 1)
  const [service = ''] = method.slice(0, Math.max(at, 0)).split('.').slice(-1)
  const isBare = at > 0 && /^(Create|Update|Delete|Get|List|CreateBatch|BatchDelete)$/.test(name)
  if (!isBare) return name
  return `${name}${service
    .replace(/Service$/, '')
    .replace(/ies$/, 'y')
    .replace(/s$/, '')}`
}

/** uids whose names the words use. */
export const uidsOf = ({ actor, resourceUid }: AuditEvent): readonly string[] => [
  actor,
  resourceUid,
  parentUid(resourceUid),
]

/** What an actor is called; the uid of one that is deleted or that the user cannot see. */
export function actorName(actor: string, names: ResourceNames): string {
  if (actor === OPERATOR.id) return OPERATOR.name
  return names.get(actor)?.name ?? actor
}

const resultNames: Readonly<Record<number, string>> = {
  0: 'done',
  3: 'invalid',
  5: 'not found',
  7: 'denied',
  8: 'limit reached',
  9: 'not possible',
  16: 'not authenticated',
}

export const resultName = (code: number): string => resultNames[code] ?? `code ${code}`
