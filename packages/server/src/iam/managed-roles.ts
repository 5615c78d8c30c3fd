import { createHash } from 'node:crypto'
import {
  type CapabilitySet,
  capabilitiesIn,
  capabilityByName,
  capabilitySetOf,
  includesAll,
  isGrantable,
  union,
} from '@berth/contract/capabilities.ts'

/**
 * The roles that come with the platform. They are at the root, every caller can read them, and they cannot be changed. Their names and
 * capabilities are those of the public platform, so that clients find the role that they request by name.
 */

/** A role that comes with the platform. */
export interface ManagedRole {
  /** 40 hexadecimal digits, the same in every installation. */
  readonly uid: string
  readonly name: string
  readonly description: string
  readonly capabilities: CapabilitySet
}

/** The set of the capabilities with these short names, separated by white space. */
function capabilities(names: string): CapabilitySet {
  return capabilitySetOf(
    names.split(/\s+/).map((name) => {
      const capability = capabilityByName(name)
      if (capability === undefined) throw new Error(`unknown capability ${name}`)
      return capability
    }),
  )
}

const imagePull = capabilities(`groups.list
  record_signatures.list sboms.list vuln_reports.list
  repo.blobs.get repo.list manifest.list tag.list manifest.metadata.list referrers.list`)

const imagePush = union(
  imagePull,
  capabilities(`groups.create
    repo.create repo.update repo.delete
    manifest.create manifest.update manifest.delete
    tag.create tag.update tag.delete`),
)

const packagePull = capabilities('groups.list apk.list apk.blobs.get')

const pullTokenCreator = capabilities('groups.list roles.list role_bindings.create identity.create')

const libraryPull = (ecosystem: 'java' | 'python' | 'javascript') =>
  capabilities(`libraries.entitlements.list libraries.${ecosystem}.list`)

const guardenerUser = union(
  imagePull,
  capabilities(`terms.list
    guardener.dfc.convert guardener.association.list guardener.actions.migrate
    guardener.scan.list guardener.scan.get`),
)

const consoleViewer = capabilities(`groups.list group_invites.list roles.list role_bindings.list
  record_signatures.list sboms.list vuln_reports.list
  account_associations.list identity.list identity_providers.list subscriptions.list
  repo.list manifest.list tag.list manifest.metadata.list referrers.list
  apk.list version.list vuln_report.list build_report.list
  registry.entitlements.list registry.settings.list registry.overlays.list
  libraries.entitlements.list libraries.artifacts.list libraries.cache.list
  libraries.aws_marketplace.subscriptions.list libraries.request_groups.list libraries.remote_registries.list
  advisories.list registry.deployments.list
  policies.policy.list policies.binding.list policies.decision.list policies.override.list
  packages.entitlements.list guardener.entitlement.list guardener.scan.list guardener.scan.get
  skills.entitlements.list skills.list
  libraries.policy.list libraries.policy.binding.list libraries.policy.block_event.list actions.list
  signature_verifiers.list`)

const viewer = union(
  consoleViewer,
  capabilities(`repo.blobs.get apk.blobs.get terms.list
    guardener.dfc.convert guardener.association.list guardener.actions.migrate`),
)

const editor = union(
  viewer,
  capabilities(`subscriptions.create subscriptions.update subscriptions.delete
    repo.create repo.update repo.delete registry.overlays.edit
    libraries.request_groups.create libraries.request_groups.update libraries.request_groups.delete
    libraries.request_groups.items.update`),
)

const owner = union(
  editor,
  capabilities(`groups.create groups.update groups.delete group_invites.create group_invites.delete
    roles.create roles.update roles.delete role_bindings.create role_bindings.update role_bindings.delete
    account_associations.create account_associations.update account_associations.delete
    identity.create identity.update identity.delete
    identity_providers.create identity_providers.update identity_providers.delete identity_providers.scim.manage
    manifest.create manifest.update manifest.delete tag.create tag.update tag.delete repo_policies.update
    signature_verifiers.create signature_verifiers.update signature_verifiers.delete
    apk.create apk.delete vuln_report.create vuln.create
    registry.entitlements.images.add registry.entitlements.images.remove registry.entitlements.images.swap
    libraries.entitlements.create libraries.entitlements.delete
    libraries.python.list libraries.python.create libraries.java.list libraries.java.create
    libraries.javascript.list libraries.javascript.create libraries.dotnet.list libraries.dotnet.create
    libraries.go.list libraries.go.create libraries.cache.invalidate
    libraries.aws_marketplace.subscriptions.create libraries.aws_marketplace.subscriptions.update
    libraries.request_groups.submit libraries.remote_registries.create libraries.remote_registries.delete
    policies.policy.create policies.policy.update policies.policy.delete
    policies.binding.create policies.binding.update policies.binding.delete
    policies.override.create policies.override.delete repo.check_policies
    terms.accept guardener.association.manage mcp.tool.call
    skills.publish skills.entitlements.create skills.entitlements.delete
    skills.harden.read skills.harden.write skills.harden.cancel
    libraries.policy.create libraries.policy.update libraries.policy.delete
    libraries.policy.binding.create libraries.policy.binding.update libraries.policy.binding.delete`),
)

const catalogAdmin = capabilities(`groups.list repo.create repo.update repo.list tag.list repo.internal.admin
  registry.deployments.create registry.deployments.update registry.deployments.list`)

/** Held on the platform only (`berth admin operators`): groups cannot grant it. */
const operator = capabilities('operator.get operator.update')

function role(name: string, description: string, set: CapabilitySet): ManagedRole {
  const uid = createHash('sha256').update(`berth managed role ${name}`).digest('hex').slice(0, 40)
  return { uid, name, description, capabilities: set }
}

/** All managed roles, the most powerful first, then by area. */
export const managedRoles: readonly ManagedRole[] = [
  role(
    'owner',
    'Full control of an organization and everything in it. Cannot change advisories, or catalog fields of repos: the operator grants these.',
    owner,
  ),
  role(
    'editor',
    'Reads everything, pulls images and packages, and changes repos and event subscriptions. Cannot push images, create folders or grant roles.',
    editor,
  ),
  role('viewer', 'Reads everything, and pulls images and packages. Cannot change anything.', viewer),
  role(
    'console_viewer',
    'Reads everything. Cannot pull images or packages, or change anything.',
    consoleViewer,
  ),
  role(
    'limited_owner',
    'Reads everything, pulls images and packages, and creates pull tokens. Cannot push images or change repos.',
    union(viewer, pullTokenCreator),
  ),
  role('registry.pull', 'Pulls images. Cannot push or delete them.', imagePull),
  role(
    'registry.push',
    'Pulls, pushes and deletes images, and creates folders and repos for them. Cannot change policies or grant roles.',
    imagePush,
  ),
  role(
    'registry.pull_token_creator',
    'Pulls images and packages, and creates pull tokens for them. Cannot push or delete images.',
    union(imagePull, packagePull, pullTokenCreator),
  ),
  role('apk.pull', 'Pulls packages. Cannot pull images, or publish or delete packages.', packagePull),
  role(
    'libraries.java.pull',
    'Pulls Java libraries. Cannot publish them, or change remote registries and policies.',
    libraryPull('java'),
  ),
  role(
    'libraries.python.pull',
    'Pulls Python libraries. Cannot publish them, or change remote registries and policies.',
    libraryPull('python'),
  ),
  role(
    'libraries.javascript.pull',
    'Pulls JavaScript libraries. Cannot publish them, or change remote registries and policies.',
    libraryPull('javascript'),
  ),
  role(
    'libraries.java.pull_token_creator',
    'Pulls Java libraries, and creates pull tokens for them. Cannot publish libraries, or pull images.',
    union(libraryPull('java'), pullTokenCreator),
  ),
  role(
    'libraries.python.pull_token_creator',
    'Pulls Python libraries, and creates pull tokens for them. Cannot publish libraries, or pull images.',
    union(libraryPull('python'), pullTokenCreator),
  ),
  role(
    'libraries.javascript.pull_token_creator',
    'Pulls JavaScript libraries, and creates pull tokens for them. Cannot publish libraries, or pull images.',
    union(libraryPull('javascript'), pullTokenCreator),
  ),
  role(
    'guardener.user',
    'Runs guardener sessions and pulls the images they build on. Cannot accept its terms, link it to code hosts, or push images.',
    guardenerUser,
  ),
  role(
    'guardener.admin',
    'Runs guardener sessions, pulls the images they build on, accepts its terms and links it to code hosts. Cannot push images or grant roles.',
    union(guardenerUser, capabilities('terms.accept guardener.association.manage')),
  ),
  role(
    'actions.viewer',
    'Reads the catalog of actions. Cannot read or change anything else.',
    capabilities('actions.list'),
  ),
  role(
    'advisories.viewer',
    'Reads advisories. Cannot import, review or remove them.',
    capabilities('advisories.list'),
  ),
  role(
    'advisories.admin',
    'Reads, imports, reviews and removes advisories, and controls who can read them. Cannot read or change anything else.',
    capabilities(`advisories.list advisories.create advisories.update advisories.delete advisories.approve`),
  ),
  role(
    'catalog.admin',
    'Changes catalog fields of repos: tiers, bundles, aliases, active tags, sync configurations, readmes and deployments. Only the operator can grant it. Cannot pull or push images.',
    catalogAdmin,
  ),
  role(
    'operator',
    'Uses the operator API: manages accounts, organizations, sessions, keys and storage of the server. Only berth admin operators can grant it. Cannot read or change anything in organizations.',
    operator,
  ),
  role(
    'argos.osv.reader',
    'Reads private OSV data. Cannot read advisories, or change anything.',
    capabilities('argos.osv.read'),
  ),
]

/**
 * Adds the capabilities of `catalog.admin` to those of an owner. It depends on the capabilities alone, so a caller who can grant the role
 * `owner` holds them as well (R19).
 */
export function withCatalogOfOwner(held: CapabilitySet): CapabilitySet {
  return includesAll(held, owner) ? union(held, catalogAdmin) : held
}

const SUGGESTED_MAX = 2

/** Returns the names of the least powerful managed roles with these capabilities that owners can grant. */
export function suggestRoles(needed: CapabilitySet): string[] {
  return managedRoles
    .filter(({ capabilities: held }) => includesAll(held, needed) && capabilitiesIn(held).every(isGrantable))
    .toSorted(
      (one, other) => capabilitiesIn(one.capabilities).length - capabilitiesIn(other.capabilities).length,
    )
    .slice(0, SUGGESTED_MAX)
    .map(({ name }) => name)
}

/** The role of operators who do not administer the platform. */
export const operatorRole: ManagedRole = requireManagedRole('operator')

function requireManagedRole(name: string): ManagedRole {
  const found = managedRoles.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no role ${name}`)
  return found
}

export const managedRoleByUid: ReadonlyMap<string, ManagedRole> = new Map(managedRoles.map((r) => [r.uid, r]))

export const managedRoleByName: ReadonlyMap<string, ManagedRole> = new Map(
  managedRoles.map((r) => [r.name, r]),
)
