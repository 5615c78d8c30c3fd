import { RelationshipType } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import type { Tables } from '@berth/server/storage/schema/tables.ts'
import { segment } from '../dataset.ts'

/** Organizations with 50 resources each, as the API would write them, without audit events. The same at every generation. */

export const FOLDERS = 10
const REPOS = 20
const IDENTITIES = 10
/** Resources of an organization, besides its root group; an identity has a role binding. */
export const RESOURCES = FOLDERS + REPOS + 2 * IDENTITIES

const EPOCH_MS = Date.UTC(2026, 0, 1)
/** OrgStatus.READY of the schema. */
const READY = 1

export function organizationUid(index: number): string {
  return segment(index) + segment(index ^ 0x2545f491) + '0'.repeat(8)
}

export function folderUid(index: number, folder: number): string {
  return `${organizationUid(index)}/${segment(folder)}`
}

/** Owns its organization. */
export function callerUid(index: number): string {
  return identityUid(organizationUid(index), 0)
}

const identityUid = (root: string, identity: number) => `${root}/${segment(1000 + identity)}`

type RowsOf<K extends keyof Tables> = (index: number) => readonly Tables[K][]

/** The rows of one organization, by table. */
export const tables: { readonly [K in keyof Tables]?: RowsOf<K> } = {
  organization_names: (index) => [{ name: `organization-${index}`, uid: organizationUid(index) }],

  groups(index) {
    const root = organizationUid(index)
    const group = (uid: string, parent: string, name: string) => ({
      ...resource(root, uid, parent, name),
      verified: 0,
      kind: 0,
      status: READY,
    })
    return [
      group(root, '', `organization-${index}`),
      ...numbers(FOLDERS).map((folder) => group(folderUid(index, folder), root, `team-${folder}`)),
    ]
  },

  repos(index) {
    const root = organizationUid(index)
    return numbers(REPOS).map((repo) => {
      const parent = folderUid(index, repo % FOLDERS)
      return {
        ...resource(root, `${parent}/${segment(2000 + repo)}`, parent, `repo-${repo}`),
        catalog_tier: 0,
        configuration: new Uint8Array(0),
        source: '',
      }
    })
  },

  identities(index) {
    const root = organizationUid(index)
    return numbers(IDENTITIES).map((identity) => ({
      ...resource(root, identityUid(root, identity), root, `workload-${identity}`),
      email: '',
      email_unverified: '',
      company: '',
      relationship: RelationshipType.CLAIM_MATCH,
      relationship_data: new Uint8Array(0),
      issuer: 'https://issuer.example.com',
      subject: `repository:${index}/${identity}`,
      registered_through: '',
      keys_expire_ms: 0,
      last_seen_ms: EPOCH_MS,
    }))
  },

  role_bindings(index) {
    const root = organizationUid(index)
    return numbers(IDENTITIES).map((identity) => ({
      root,
      uid: `${root}/${segment(3000 + identity)}`,
      parent: root,
      identity_uid: identityUid(root, identity),
      role_uid: roleUid(identity === 0 ? 'owner' : 'viewer'),
      automatic: 0,
      accepted_through: '',
      created_ms: EPOCH_MS,
      updated_ms: EPOCH_MS,
    }))
  },

  counts(index) {
    const root = organizationUid(index)
    const counts = { groups: 1 + FOLDERS, repos: REPOS, identities: IDENTITIES, role_bindings: IDENTITIES }
    return Object.entries(counts).map(([collection, n]) => ({ root, collection, start: root, n }))
  },
}

function resource(root: string, uid: string, parent: string, name: string) {
  const times = { created_ms: EPOCH_MS, updated_ms: EPOCH_MS }
  return { root, uid, parent, name, description: `The resource ${name} of the benchmark`, ...times }
}

function roleUid(name: string): string {
  const role = managedRoleByName.get(name)
  if (role === undefined) throw new Error(`there is no role ${name}`)
  return role.uid
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}
