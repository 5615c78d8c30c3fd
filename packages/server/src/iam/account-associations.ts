import {
  type AccountAssociation,
  AccountAssociation_ChainguardSchema,
  type AccountAssociation_GitHubAppInstallations,
  AccountAssociationSchema,
  AccountAssociationsService,
  AccountProviderType,
  CheckStatus,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
import { ServicePrincipal } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  alreadyExists,
  type FieldViolation,
  failedPrecondition,
  invalidArgument,
  notFound,
} from '../api/errors.ts'
import { checkDescription, checkName, requireValid } from '../api/fields.ts'
import { timestampOf } from '../api/messages.ts'
import { parentOf, parseUid, rootOf, type Uid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import { mutate } from '../storage/changes/mutation.ts'
import type { Tx } from '../storage/db.ts'
import { insertResource, lockResource, readResource } from '../storage/resource-rows.ts'
import { type ResourceDeclaration, resourceMethods } from '../storage/resources/resource-methods.ts'
import type { AccountAssociationRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { relationshipOf } from '../tokens/trust/relationship.ts'
import type { CloudProbes, ProbeCall, ProbeResult } from './cloud/probe.ts'
import { lockGroup } from './groups/parent-group.ts'

/**
 * Account associations: the accounts of a group at cloud providers and code hosts, and the identities that services of the platform use for
 * it. A group has at most one association, with the uid of the group. No credential of an account is stored: access depends on the trust
 * that the account itself places in our tokens (docs/account-associations.md).
 */

const TYPE = 'iam.chainguard.dev/AccountAssociation'

export function accountAssociationsService(store: Store, probes: CloudProbes) {
  const { db, clock } = store
  const associations: ResourceDeclaration<'account_associations', typeof AccountAssociationSchema> = {
    table: 'account_associations',
    schema: AccountAssociationSchema,
    isCached: true,
    toMessages: (rows) => rows.map(toAssociation),
    sortFields: { group: 'uid' },
    write: {
      checks: ({ next }) => checkAssociation(next),
      async authorize({ tx, next, existing }) {
        // Bindings that stay are not checked again: their identity may have changed since.
        if (existing !== undefined && !hasSameServices(existing.current, next))
          await lockServiceIdentities(store, tx, existing.row.uid as Uid, next)
      },
      columns: ({ next }) => columnsOf(next),
    },
  }

  return implement(AccountAssociationsService, {
    ...resourceMethods(store, AccountAssociationsService, associations),

    async createAccountAssociation({ accountAssociation = create(AccountAssociationSchema) }, call) {
      const group = requireScope(call).scope as Uid
      return mutate(
        store,
        call,
        async (tx) => {
          await lockGroup(db, tx, group)
          requireValid(...checkAssociation(accountAssociation))
          await lockServiceIdentities(store, tx, group, accountAssociation)
          const now = clock()
          const row: AccountAssociationRow = {
            root: rootOf(group),
            uid: group,
            parent: parentOf(group),
            ...columnsOf(accountAssociation),
            created_ms: now,
            updated_ms: now,
          }
          await insertResource(db, tx, 'account_associations', row)
          return { uid: group, response: toAssociation(row) }
        },
        () => alreadyExists(TYPE, group, `the group ${group} has an account association already`),
      )
    },

    async checkAccountAssociation({ providerType }, call) {
      const { scope } = requireScope(call)
      const row = await readResource(db, 'account_associations', scope)
      if (row === undefined) throw notFound(TYPE, scope)
      const { ready, reason, message } = await probe(probes, toAssociation(row), providerType, {
        group: scope,
        signal: call.signal,
      })
      return {
        $typeName: 'chainguard.platform.iam.v2beta1.CheckAccountAssociationResponse' as const,
        status: ready ? CheckStatus.READY : CheckStatus.NOT_READY,
        reason,
        message,
      }
    },
  })
}

/** Checks the access to one account. Throws code 3 for a provider that cannot be checked. */
function probe(
  probes: CloudProbes,
  { amazon, google, azure }: AccountAssociation,
  provider: AccountProviderType,
  call: ProbeCall,
): Promise<ProbeResult> | ProbeResult {
  switch (provider) {
    case AccountProviderType.AMAZON:
      return amazon === undefined ? notConfiguredResult('Amazon account') : probes.amazon.check(amazon, call)
    case AccountProviderType.GOOGLE:
      return google === undefined ? notConfiguredResult('Google project') : probes.google.check(google, call)
    case AccountProviderType.AZURE:
      return azure === undefined ? notConfiguredResult('Azure tenant') : probes.azure.check(azure, call)
    default:
      throw invalidArgument('providerType', 'must name Google, Amazon or Azure')
  }
}

function notConfiguredResult(account: string): ProbeResult {
  return { ready: false, reason: 'not configured', message: `the association names no ${account}` }
}

/**
 * Throws code 9 if the association of its group refers to this identity. The caller has locked the identity; referring to it locks it
 * too, so no reference is added meanwhile.
 */
export async function requireNotServiceBound(tx: Tx, identity: string): Promise<void> {
  const group = parentOf(identity)
  if (group === '') return
  const row = await tx
    .selectFrom('account_associations')
    .selectAll()
    .where('root', '=', rootOf(group))
    .where('uid', '=', group)
    .executeTakeFirst()
  const bound = row === undefined ? [] : Object.values(serviceBindings(toAssociation(row)))
  if (bound.includes(identity)) {
    throw failedPrecondition('RESOURCE_IN_USE', `identity ${identity} is used by the account association`)
  }
}

function toAssociation(row: AccountAssociationRow): AccountAssociation {
  return {
    ...fromBinary(AccountAssociationSchema, row.configuration),
    uid: row.uid,
    name: row.name,
    description: row.description,
    createTime: timestampOf(row.created_ms),
    updateTime: timestampOf(row.updated_ms),
  }
}

const providerFields = ['amazon', 'google', 'azure', 'chainguard', 'github'] as const

function columnsOf(association: AccountAssociation) {
  const { name, description } = association
  return { name, description, configuration: configurationOf(association) }
}

/** Returns what is stored as a message: all fields without a column. */
function configurationOf(association: AccountAssociation): Uint8Array {
  const given = providerFields.flatMap((link) =>
    association[link] === undefined ? [] : [[link, association[link]]],
  )
  return toBinary(AccountAssociationSchema, create(AccountAssociationSchema, Object.fromEntries(given)))
}

function serviceBindings({ chainguard }: AccountAssociation): Readonly<Record<string, string>> {
  return chainguard?.serviceBindings ?? {}
}

function hasSameServices(one: AccountAssociation, other: AccountAssociation): boolean {
  const of = (association: AccountAssociation) =>
    association.chainguard ?? create(AccountAssociation_ChainguardSchema)
  return equals(AccountAssociation_ChainguardSchema, of(one), of(other))
}

/** Services by their names without prefix, as in `INGESTER`. */
const servicesByName: ReadonlyMap<string, ServicePrincipal> = new Map(
  Object.entries(ServicePrincipal).flatMap(([name, service]) =>
    typeof service === 'number' && service !== ServicePrincipal.UNSPECIFIED ? [[name, service]] : [],
  ),
)

/**
 * Locks the identities that are bound to services, so that they are not deleted meanwhile. Throws code 5 for an identity outside the
 * group, as if it did not exist, and code 3 for an identity of another service.
 */
async function lockServiceIdentities(
  { db }: Store,
  tx: Tx,
  group: Uid,
  association: AccountAssociation,
): Promise<void> {
  const bindings = Object.entries(serviceBindings(association))
  const serviceOf = new Map<string, ServicePrincipal | undefined>()
  // In one order everywhere, so that two changes cannot deadlock.
  for (const uid of bindings.map(([, boundUid]) => boundUid).sort()) {
    const row = parentOf(uid) === group ? await lockResource(db, tx, 'identities', uid, 'share') : undefined
    if (row === undefined) throw notFound('iam.chainguard.dev/Identity', uid)
    const relationship = relationshipOf(row.relationship_data)
    serviceOf.set(uid, relationship.case === 'servicePrincipal' ? relationship.value : undefined)
  }
  requireValid(
    ...bindings.map(([service, uid]) =>
      serviceOf.get(uid) === servicesByName.get(service)
        ? undefined
        : violation(
            `chainguard.serviceBindings[${service}]`,
            `must be an identity of the service ${service}`,
          ),
    ),
  )
}

type Violation = FieldViolation | undefined

/** Returns every violation in the fields that callers write. */
function checkAssociation(association: AccountAssociation): Violation[] {
  const { amazon, google, azure, chainguard, github } = association
  const checks: Violation[] = [checkName(association.name), checkDescription(association.description)]
  if (providerFields.every((link) => association[link] === undefined))
    checks.push(violation('amazon', `one of ${providerFields.join(', ')} is required`))
  if (amazon !== undefined && !/^[0-9]{12}$/.test(amazon.account))
    checks.push(violation('amazon.account', 'must be the 12 digits of an AWS account'))
  if (google !== undefined) {
    checks.push(
      checkText('google.projectId', google.projectId),
      checkText('google.projectNumber', google.projectNumber),
    )
  }
  if (azure !== undefined) {
    checks.push(
      checkText('azure.tenantId', azure.tenantId),
      ...checkEntries('azure.clientIds', Object.entries(azure.clientIds), { least: 1 }, ([component, id]) => [
        checkText('azure.clientIds', component, 'names of components') ??
          checkText(`azure.clientIds[${component}]`, id),
      ]),
    )
  }
  if (chainguard !== undefined) {
    const bindings = Object.entries(chainguard.serviceBindings)
    checks.push(...checkEntries('chainguard.serviceBindings', bindings, { least: 1 }, checkServiceBinding))
  }
  if (github !== undefined) {
    const apps = Object.entries(github.appInstallations)
    checks.push(...checkEntries('github.appInstallations', apps, { least: 0 }, checkInstallations))
  }
  return checks
}

function checkServiceBinding([service, identity]: readonly [string, string]): Violation[] {
  const field = `chainguard.serviceBindings[${service}]`
  if (!servicesByName.has(service))
    return [violation(field, `must be a service: one of ${[...servicesByName.keys()].join(', ')}`)]
  if (identity === '') return [violation(field, 'is required')]
  return parseUid(identity) === undefined ? [violation(field, 'must be a uid')] : []
}

function checkInstallations([app, { installations }]: readonly [
  string,
  AccountAssociation_GitHubAppInstallations,
]): Violation[] {
  const field = `github.appInstallations[${app}]`
  const seen = new Set<bigint>()
  return [
    BigInt(app) > 0n ? undefined : violation(field, 'must be of an app, whose number is positive'),
    ...checkEntries(`${field}.installations`, installations, { least: 1 }, ({ installationId, name }, at) => {
      const one = `${field}.installations[${at}]`
      const twice = seen.has(installationId)
      seen.add(installationId)
      return [
        installationId > 0n ? undefined : violation(`${one}.installationId`, 'must be positive'),
        twice ? violation(`${one}.installationId`, 'must not be repeated') : undefined,
        name === '' ? undefined : checkText(`${one}.name`, name),
      ]
    }),
  ]
}

/** Checks the number of entries of a map or list, then each entry. */
function checkEntries<Entry>(
  field: string,
  entries: readonly Entry[],
  { least }: { readonly least: 0 | 1 },
  check: (entry: Entry, at: number) => Violation[],
): Violation[] {
  if (entries.length < least) return [violation(field, 'must have at least one entry')]
  if (entries.length > limits.associationEntriesMax)
    return [violation(field, `must have at most ${limits.associationEntriesMax} entries`)]
  return entries.flatMap(check)
}

/** One line without control and format characters. */
const textPattern = /^[^\p{C}\p{Zl}\p{Zp}]+$/u

function checkText(field: string, text: string, what = ''): Violation {
  const must = what === '' ? 'must' : `${what} must`
  if (text === '') return violation(field, `${must} not be empty`)
  if (text.length > limits.associationTextCharsMax)
    return violation(field, `${must} have at most ${limits.associationTextCharsMax} characters`)
  return textPattern.test(text)
    ? undefined
    : violation(field, `${must} be one line without control characters`)
}

function violation(field: string, description: string): FieldViolation {
  return { field, description }
}
