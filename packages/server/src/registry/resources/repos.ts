import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  CatalogTierSchema,
  CustomOverlaySchema,
  type Repo,
  RepoSchema,
  ReposService,
  type SyncConfig,
} from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import { alreadyExists, type FieldViolation, failedPrecondition } from '../../api/errors.ts'
import { checkDescription, checkName, requireValid } from '../../api/fields.ts'
import { applyUpdate, timestampOf } from '../../api/messages.ts'
import { parentOf, rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { lockGroup } from '../../iam/groups/parent-group.ts'
import {
  authorizationOf,
  describeResource,
  requireCapabilities,
  requireScope,
} from '../../pipeline/authorization.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { type MutationResult, mutate } from '../../storage/changes/mutation.ts'
import type { Reader, Tx } from '../../storage/db.ts'
import {
  findUid,
  insertResource,
  lockForChange,
  lockResource,
  nextUpdateMs,
  updateResource,
} from '../../storage/resource-rows.ts'
import {
  definitionOf,
  type ResourceDeclaration,
  resourceMethods,
} from '../../storage/resources/resource-methods.ts'
import type { RepoRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { deleteRepoImages } from '../manifests/manifest-rows.ts'
import { requireMayFreePath } from '../policies/policy-protection.ts'
import { checkBundles } from './bundles.ts'
import { checkCustomOverlay } from './custom-overlay.ts'
import { REPO_TYPE } from './parent-repo.ts'
import { type CopySettings, readCopySettings } from './registry-settings.ts'
import { deleteRepoDependents } from './repo-dependents.ts'
import { readmeHandlers } from './repo-readmes.ts'
import { recordCopyingOrganization } from './sources/copying-organizations.ts'
import { findSource, lockCopies } from './sources/repo-source.ts'
import { checkTagName } from './tag-names.ts'
import { isInstant, removeImmutableTags } from './tags.ts'

/**
 * Repos: places for the images of a group. Repos of a group have different names. Catalog fields are written by the operator; a repo
 * that copies another one gets them from there.
 */

/** `registryHost`: host that images are pulled from, e.g. `cr.example.com`. */
export interface RepoOptions {
  readonly registryHost: string
}

/** The result of a change, with the new row. */
export interface ChangedRepo extends MutationResult<Repo> {
  readonly row: RepoRow
}

/** Changes of repos inside a transaction, shared by all versions of the API. */
export interface RepoChanges {
  /** Creates a repo in a group. */
  create(tx: Tx, call: Call, group: Uid, requested: Repo): Promise<ChangedRepo>
  /** Updates a repo to what `update` returns. */
  update(tx: Tx, call: Call, uid: string, update: (current: Repo) => Repo): Promise<ChangedRepo>
}

const repos: Pick<
  ResourceDeclaration<'repos', typeof RepoSchema>,
  'table' | 'schema' | 'isCached' | 'toMessages' | 'wide'
> = {
  table: 'repos',
  wide: { column: 'configuration', bytesMax: limits.listedOverlaysBytesMax },
  schema: RepoSchema,
  isCached: true,
  toMessages: (rows, reader) => toRepoMessages(reader, rows),
}

export function repoChanges(store: Store, { registryHost }: RepoOptions): RepoChanges {
  const { db, clock, uids } = store

  /**
   * Returns the requested repo with its source as a uid, and with the catalog fields of the source if it starts to copy it. Invalid
   * values are in `violations`.
   */
  const applySource = async (
    tx: Tx,
    call: Call,
    now: number,
    { uid, current, requested }: { readonly uid: string; readonly current: Repo; readonly requested: Repo },
  ): Promise<SourcedRepo> => {
    const { syncConfig } = requested
    if (syncConfig === undefined) return { next: requested, origin: current, violations: [] }
    let [origin, source] = [current, syncConfig.source]
    if (source !== current.syncConfig?.source) {
      const found = await findSource(tx, call, source, registryHost)
      // Locked, so that a change of the source either is seen here or finds this copy.
      const row = found && (await lockResource(db, tx, 'repos', found.uid, 'share'))
      if (row === undefined || row.uid === uid)
        return { next: requested, origin, violations: [checkSource(source)] }
      if (row.uid !== current.syncConfig?.source) {
        origin = toRepo(row)
        await recordCopyingOrganization(db, tx, uid, row.uid)
      }
      source = row.uid
    }
    const expirationTime =
      syncConfig.expirationTime ?? (origin === current ? undefined : timestampOf(now + limits.syncLifetimeMs))
    const { catalogTier, bundles, aliases, activeTags } = origin
    const next = {
      ...requested,
      catalogTier,
      bundles,
      aliases,
      activeTags,
      syncConfig: { ...syncConfig, source, ...(expirationTime && { expirationTime }) },
    }
    const violations = catalogFields
      .filter((field) => differs(field, requested, current) && differs(field, requested, next))
      .map((field) => ({ field, description: 'a repo that copies another one has the value of its source' }))
    return { next, origin, violations }
  }

  return {
    async create(tx, call, group, requested) {
      const nothing = create(RepoSchema)
      requireOperator(call, group, nothing, requested)
      await lockGroup(db, tx, group)
      const uid = uids.child(group)
      const now = clock()
      const { next, origin, violations } = await applySource(tx, call, now, {
        uid,
        current: nothing,
        requested,
      })
      requireValid(...checkRepo(nothing, requested), ...violations)
      requireCustomAssembly(nothing, next)
      const description = next.description === '' ? origin.description : next.description
      const row = await insertRepo(store, tx, uid, { ...next, description }, now)
      return { uid, row, response: await toRepoMessage(row, tx) }
    },

    async update(tx, call, uid, update) {
      const { row, current } = await lockForChange(db, tx, call, definitionOf(repos), uid)
      const hasOwnGracePeriod = toRepo(row).syncConfig?.gracePeriod === true
      const requested = withInheritedGracePeriod(update(current), current, hasOwnGracePeriod)
      const { next, violations } = await applySource(tx, call, clock(), { uid, current, requested })
      if (violations.length === 0 && equals(RepoSchema, current, next))
        return { uid, row, response: current, unchanged: true }
      requireOperator(call, uid, current, violations.length === 0 ? next : requested)
      requireValid(...checkRepo(current, requested), ...violations)
      requireCustomAssembly(current, next)
      if (next.name !== row.name) await requireMayFreePath(tx, authorizationOf(call).grants, uid, 'renaming')
      const changed = {
        name: next.name,
        description: next.description,
        ...catalogColumns(withoutInheritedGracePeriod(next, current, hasOwnGracePeriod)),
        updated_ms: nextUpdateMs(store, row),
      }
      await updateResource(tx, 'repos', uid, changed)
      if (catalogFields.some((field) => differs(field, current, next)))
        await propagateCatalog(store, tx, uid, next)
      const after = { ...row, ...changed }
      return { uid, row: after, response: await toRepoMessage(after, tx) }
    },
  }
}

export function reposService(store: Store, options: RepoOptions) {
  const changes = repoChanges(store, options)

  return implement(ReposService, {
    ...resourceMethods(store, ReposService, {
      ...repos,
      async beforeDelete(tx, { uid }, call) {
        await requireMayFreePath(tx, authorizationOf(call).grants, uid, 'deleting')
        if (!(await removeImmutableTags(store, tx, uid)))
          throw failedPrecondition('RESOURCE_NOT_EMPTY', `repo ${uid} still contains tags`)
        await deleteRepoDependents(tx, uid)
        await deleteRepoImages(store, tx, uid)
      },
    }),
    ...readmeHandlers(store),

    createRepo({ repo = create(RepoSchema) }, call) {
      const group = requireScope(call).scope as Uid
      const requested = applyUpdate(RepoSchema, create(RepoSchema), repo, ['*'])
      return mutate(
        store,
        call,
        (tx) => changes.create(tx, call, group, requested),
        () => repoNameTakenError(store, call, group, repo.name),
      )
    },

    updateRepo({ repo: patch = create(RepoSchema), updateMask }, call) {
      const { scope } = requireScope(call)
      let name = patch.name
      return mutate(
        store,
        call,
        (tx) =>
          changes.update(tx, call, scope, (current) => {
            const requested = applyUpdate(RepoSchema, current, patch, updateMask?.paths)
            name = requested.name
            return requested
          }),
        () => repoNameTakenError(store, call, parentOf(scope), name),
      )
    },
  })
}

/** Creates a repo in a group that is locked. A name that is taken is a unique violation. */
export async function insertRepo(
  { db }: Pick<Store, 'db'>,
  tx: Tx,
  uid: Uid,
  repo: Repo,
  now: number,
): Promise<RepoRow> {
  const row: RepoRow = {
    root: rootOf(uid),
    uid,
    parent: parentOf(uid),
    name: repo.name,
    description: repo.description,
    ...catalogColumns(repo),
    created_ms: now,
    updated_ms: now,
  }
  await insertResource(db, tx, 'repos', row)
  return row
}

/** Returns repos as the API shows them: copies with the copy settings of their organization. */
async function toRepoMessages(reader: Reader, rows: readonly RepoRow[]): Promise<Repo[]> {
  const copies = rows.filter(({ source }) => source !== '').map(({ uid }) => uid)
  const settingsOf = await readCopySettings(reader, copies)
  return rows.map((row) => {
    const repo = toRepo(row)
    const { syncConfig } = repo
    return syncConfig === undefined
      ? repo
      : { ...repo, syncConfig: { ...syncConfig, ...effectiveSettings(syncConfig, settingsOf(row.uid)) } }
  })
}

/** Returns the copy settings of an organization, with a grace period that the copy has itself. */
function effectiveSettings({ gracePeriod }: SyncConfig, settings: CopySettings): CopySettings {
  return { ...settings, gracePeriod: settings.gracePeriod || gracePeriod }
}

/** Whether a copy shows a grace period that it only inherits from its organization, which no update can clear. */
function inheritsGracePeriod({ syncConfig }: Repo, hasOwnGracePeriod: boolean): boolean {
  return syncConfig?.gracePeriod === true && !hasOwnGracePeriod
}

function withInheritedGracePeriod(requested: Repo, current: Repo, hasOwnGracePeriod: boolean): Repo {
  const { syncConfig } = requested
  if (syncConfig === undefined || !inheritsGracePeriod(current, hasOwnGracePeriod)) return requested
  return { ...requested, syncConfig: { ...syncConfig, gracePeriod: true } }
}

/** Returns a repo as it is stored: without a grace period that it inherits. */
function withoutInheritedGracePeriod(next: Repo, current: Repo, hasOwnGracePeriod: boolean): Repo {
  const { syncConfig } = next
  if (syncConfig === undefined || !inheritsGracePeriod(current, hasOwnGracePeriod)) return next
  return { ...next, syncConfig: { ...syncConfig, gracePeriod: false } }
}

async function toRepoMessage(row: RepoRow, reader: Reader): Promise<Repo> {
  const [repo] = await toRepoMessages(reader, [row])
  return repo ?? toRepo(row)
}

/** Returns a repo as it is stored. */
function toRepo(row: RepoRow): Repo {
  return {
    ...fromBinary(RepoSchema, row.configuration),
    uid: row.uid,
    name: row.name,
    description: row.description,
    catalogTier: row.catalog_tier,
    createTime: timestampOf(row.created_ms),
    updateTime: timestampOf(row.updated_ms),
  }
}

/** Returns the columns of the catalog and sync fields; fields without a column are stored as a message. */
function catalogColumns({
  catalogTier,
  bundles,
  aliases,
  activeTags,
  syncConfig,
  customOverlay,
}: Repo): Pick<RepoRow, 'catalog_tier' | 'configuration' | 'source'> {
  const configuration = create(RepoSchema, { bundles, aliases, activeTags })
  if (syncConfig !== undefined) configuration.syncConfig = syncConfig
  if (customOverlay !== undefined) configuration.customOverlay = customOverlay
  return {
    catalog_tier: catalogTier,
    configuration: toBinary(RepoSchema, configuration),
    source: syncConfig?.source ?? '',
  }
}

/**
 * Copies the catalog fields of a repo to its copies, and to the copies of those. Stops at a copy that has them already, so repos that
 * copy each other in a circle end too.
 */
async function propagateCatalog(store: Store, tx: Tx, source: string, origin: Repo): Promise<void> {
  for (const row of await lockCopies(store.db, tx, source)) {
    const current = toRepo(row)
    if (!catalogFields.some((field) => differs(field, current, origin))) continue
    const { catalogTier, bundles, aliases, activeTags } = origin
    const next = { ...current, catalogTier, bundles, aliases, activeTags }
    const changed = { ...catalogColumns(next), updated_ms: nextUpdateMs(store, row) }
    await updateResource(tx, 'repos', row.uid, changed)
    await propagateCatalog(store, tx, row.uid, next)
  }
}

interface SourcedRepo {
  readonly next: Repo
  /** The repo that the catalog fields are from. */
  readonly origin: Repo
  readonly violations: readonly FieldViolation[]
}

/** The fields that a repo gets from the repo that it copies. */
const catalogFields = ['catalogTier', 'bundles', 'aliases', 'activeTags'] as const

function differs(field: (typeof catalogFields)[number], a: Repo, b: Repo): boolean {
  return JSON.stringify(a[field]) !== JSON.stringify(b[field])
}

/** The violation for a source that cannot be copied. It does not say why, so that callers do not learn what exists elsewhere (R17). */
function checkSource(source: string): FieldViolation {
  const description =
    'must name another repo that you may read: its uid, organization/repo, or an image reference at this registry'
  return { field: 'syncConfig.source', description: source === '' ? 'is required' : description }
}

/** An image reference with a tag. */
const aliasPattern = /^[a-zA-Z0-9_.\-/]*[a-zA-Z0-9_.-]:[a-zA-Z0-9_.-]+$/
const destinations = ['google', 'amazon', 'azure'] as const
const destinationPattern = /^[^\s\p{Cc}]*$/u

/** Checks the fields that change: stored values may be older than a rule. */
function checkRepo(current: Repo, requested: Repo): (FieldViolation | undefined)[] {
  const changed = new Set(catalogFields.filter((field) => differs(field, current, requested)))
  const { name, description, catalogTier, bundles, aliases, activeTags, syncConfig, customOverlay } =
    requested
  return [
    checkName(name),
    checkDescription(description),
    changed.has('catalogTier') && CatalogTierSchema.value[catalogTier] === undefined
      ? { field: 'catalogTier', description: `${catalogTier} is not a tier` }
      : undefined,
    changed.has('bundles') ? checkBundles(bundles) : undefined,
    ...(changed.has('aliases') ? checkAliases(aliases) : []),
    ...(changed.has('activeTags') ? checkTags(activeTags) : []),
    ...destinations.map((field) => {
      const destination = syncConfig?.[field] ?? ''
      return destination === current.syncConfig?.[field]
        ? undefined
        : checkDestination(destination, `syncConfig.${field}`)
    }),
    syncConfig?.expirationTime === undefined || isInstant(syncConfig.expirationTime)
      ? undefined
      : { field: 'syncConfig.expirationTime', description: 'must be a time in the years 1 to 9999' },
    ...(customOverlay !== undefined && overlayDiffers(current, requested)
      ? checkCustomOverlay(customOverlay)
      : []),
  ]
}

function checkAliases(aliases: readonly string[]): (FieldViolation | undefined)[] {
  const field = 'aliases'
  const { repoAliasesMax, repoAliasCharsMax } = limits
  if (aliases.length > repoAliasesMax)
    return [{ field, description: `must have at most ${repoAliasesMax} entries` }]
  const description = `must be an image reference with a tag, of at most ${repoAliasCharsMax} characters`
  return aliases.map((alias, at) =>
    alias.length <= repoAliasCharsMax && aliasPattern.test(alias)
      ? undefined
      : { field: `${field}[${at}]`, description },
  )
}

function checkTags(tags: readonly string[]): (FieldViolation | undefined)[] {
  const field = 'activeTags'
  if (tags.length > limits.repoActiveTagsMax)
    return [{ field, description: `must have at most ${limits.repoActiveTagsMax} entries` }]
  return tags.map((tag, at) => checkTagName(tag, `${field}[${at}]`))
}

function checkDestination(text: string, field: string): FieldViolation | undefined {
  const { syncDestinationCharsMax: max } = limits
  if (text.length <= max && destinationPattern.test(text)) return undefined
  return { field, description: `must have at most ${max} characters, and no spaces` }
}

function overlayDiffers({ customOverlay: a }: Repo, { customOverlay: b }: Repo): boolean {
  return a === undefined || b === undefined ? a !== b : !equals(CustomOverlaySchema, a, b)
}

/** Throws code 9 for an overlay of a repo that copies no other one: there is no image to rebuild with it (ADR 6). */
function requireCustomAssembly(current: Repo, next: Repo): void {
  if (next.customOverlay === undefined || next.syncConfig !== undefined) return
  if (current.syncConfig === undefined && !overlayDiffers(current, next)) return
  throw failedPrecondition(
    'CUSTOM_ASSEMBLY_DISABLED',
    'a custom overlay needs a repo that copies another one (sync_config)',
  )
}

const operatorCapabilities = capabilitySetOf([Capability.CAP_REPO_INTERNAL_ADMIN])

/** Whether a caller may change the fields of the operator. */
export function mayConfigure(call: Call, scope: string): boolean {
  return includesAll(authorizationOf(call).grants.at(scope), operatorCapabilities)
}

/** Throws code 7 if a caller who is not the operator changes fields of the operator. */
function requireOperator(call: Call, scope: string, current: Repo, next: Repo): void {
  const operatorFields = ({ catalogTier, bundles, aliases, activeTags, syncConfig }: Repo) =>
    Buffer.from(
      toBinary(
        RepoSchema,
        create(RepoSchema, { catalogTier, bundles, aliases, activeTags, ...(syncConfig && { syncConfig }) }),
      ),
    )
  if (operatorFields(current).equals(operatorFields(next))) return
  requireCapabilities(
    authorizationOf(call).grants,
    scope,
    operatorCapabilities,
    'change catalog and sync fields of a repo',
  )
}

/** Returns the error for a name that is taken (code 6). */
export async function repoNameTakenError({ db }: Store, call: Call, group: string, name: string) {
  const uid = await findUid(db, 'repos', { root: rootOf(group), parent: group, name })
  const resource = describeResource(call, uid, Capability.CAP_REPO_LIST, name)
  return alreadyExists(REPO_TYPE, resource, `a repo in ${group} is named ${name} already`)
}
