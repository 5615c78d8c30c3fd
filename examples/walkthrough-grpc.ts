import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { IdentitiesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { RoleBindingsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { RolesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
} from '@berth/contract/gen/google/rpc/error_details_pb.js'
import { StatusSchema } from '@berth/contract/gen/google/rpc/status_pb.js'
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'

/**
 * Repeats docs/walkthrough.md with gRPC. Requires the development server and examples/issuer.ts, and the environment variables that the
 * walkthrough sets in "Sign in": ORG, TOKEN, and BERTH and ISSUER if they are not the defaults.
 */

const { BERTH = 'http://127.0.0.1:8080', ISSUER = 'http://127.0.0.1:8081', ORG, TOKEN } = process.env
if (ORG === undefined || TOKEN === undefined)
  throw new Error('ORG and TOKEN are not set; see "Sign in" in docs/walkthrough.md')

const client = new Client(new URL(BERTH).host, credentials.createInsecure())

/** Calls a method, with the token in the `authorization` metadata. */
function call<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  token = TOKEN,
): Promise<MessageShape<O>> {
  const metadata = new Metadata()
  metadata.set('authorization', `Bearer ${token}`)
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      create(method.input, request),
      metadata,
      (error, reply) => (error === null && reply !== undefined ? resolve(reply) : reject(error)),
    )
  })
}

/** Returns code, message and details of a call that fails. The details are in `grpc-status-details-bin`. */
async function failure(running: Promise<unknown>): Promise<string> {
  const error = await running.then(
    () => undefined,
    (reason: ServiceError) => reason,
  )
  if (error === undefined) throw new Error('the call did not fail')
  const [bytes] = error.metadata.get('grpc-status-details-bin')
  const { details } = fromBinary(StatusSchema, bytes as Buffer)
  const lines = details.flatMap((detail) => {
    const { reason } = anyUnpack(detail, ErrorInfoSchema) ?? {}
    const { fieldViolations = [] } = anyUnpack(detail, BadRequestSchema) ?? {}
    const { violations = [] } = anyUnpack(detail, PreconditionFailureSchema) ?? {}
    return [
      ...(reason === undefined ? [] : [`ErrorInfo: ${reason}`]),
      ...fieldViolations.map(({ field, description }) => `BadRequest: ${field}: ${description}`),
      ...violations.map(({ type, description }) => `PreconditionFailure: ${type}: ${description}`),
    ]
  })
  return [`code ${error.code}: ${error.details}`, ...lines].join('\n  ')
}

const print = (step: string, result: string) => process.stdout.write(`${step}\n  ${result}\n`)
const namesOf = (resources: readonly { readonly name: string }[]) =>
  resources.map(({ name }) => name).join(' ')

const { createGroup, getGroup, listGroups, updateGroup, deleteGroup } = GroupsService.method
const created = []
for (const name of ['grpc-a', 'grpc-b', 'grpc-c']) {
  created.push(await call(createGroup, { parent: ORG, group: { name } }))
}
const [group] = created
if (group === undefined) throw new Error('no group')
print('create three groups', namesOf(created))
print('get one by its UID', (await call(getGroup, { uid: group.uid })).name)

const { uid } = group
const unmasked = await call(updateGroup, { group: { uid, description: 'Builds the images' } })
print('update without a mask: fields that are set change', `${unmasked.name}: ${unmasked.description}`)
const masked = await call(updateGroup, {
  group: { uid, name: 'ignored', description: 'Builds and signs the images' },
  updateMask: { paths: ['description'] },
})
print('update with a mask: fields in the mask change', `${masked.name}: ${masked.description}`)

const list = { uidp: { descendantsOf: ORG }, pageSize: 2, orderBy: 'name desc' }
const first = await call(listGroups, list)
print('first page of two', `${namesOf(first.groups)}, of ${first.totalCount}`)
const next = await call(listGroups, { ...list, pageToken: first.nextPageToken })
print('next page', namesOf(next.groups))
const skipped = await call(listGroups, { ...list, orderBy: 'name', skip: 1 })
print('ascending, first result skipped', `${namesOf(skipped.groups)}, skipped ${skipped.skipped}`)

const identity = await call(IdentitiesService.method.createIdentity, {
  parent: uid,
  identity: {
    name: 'ci',
    relationship: {
      case: 'claimMatch',
      value: { iss: { case: 'issuer', value: ISSUER }, sub: { case: 'subject', value: 'ci-job' } },
    },
  },
})
const { roles } = await call(RolesService.method.listRoles, { name: 'viewer' })
const binding = await call(RoleBindingsService.method.createRoleBinding, {
  parent: uid,
  roleBinding: { identityUid: identity.uid, roleUid: roles[0]?.uid ?? '' },
})
print('bind an identity', `${binding.identity?.name} is ${binding.role?.name} in ${binding.group?.name}`)

const credential = Buffer.from('ci-job:ci-job').toString('base64')
const issued = await fetch(`${ISSUER}/token`, {
  method: 'POST',
  headers: { authorization: `Basic ${credential}` },
  body: new URLSearchParams({ grant_type: 'client_credentials', resource: BERTH }),
})
const { access_token: workloadToken } = (await issued.json()) as { access_token: string }
const { token } = await call(
  SecurityTokenService.method.exchange,
  { aud: [BERTH], identity: identity.uid },
  workloadToken,
)
print('list with the exchanged token', namesOf((await call(listGroups, {}, token)).groups))
print(
  'create with the exchanged token, denied',
  await failure(call(createGroup, { parent: uid, group: { name: 'mine' } }, token)),
)

print('create a group without a name', await failure(call(createGroup, { parent: ORG, group: {} })))
print('delete a group that is not empty', await failure(call(deleteGroup, { uid })))

await call(RoleBindingsService.method.deleteRoleBinding, { uid: binding.uid })
await call(IdentitiesService.method.deleteIdentity, { uid: identity.uid })
for (const one of created) await call(deleteGroup, { uid: one.uid })
print('delete binding, identity, groups', 'done')
client.close()
