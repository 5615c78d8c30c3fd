/** The tables of resources, and limits for the number of resources of a kind in an organization. */

/** The tables whose rows are resources of the tree: listed, counted, limited, tombstoned. storage/schema/tables.ts has their columns. */
export const resourceTables = [
  'groups',
  'identities',
  'roles',
  'role_bindings',
  'identity_providers',
  'account_associations',
  'group_invites',
  'repos',
  'tags',
  'external_group_role_mappings',
  'advisories',
  'advisory_feeds',
  'signature_verifiers',
] as const
export type ResourceTable = (typeof resourceTables)[number]

/** Kinds that are not called by the name of their table. */
interface KindNames {
  readonly identity_providers: 'idps'
}
const kindNames: KindNames = { identity_providers: 'idps' }

/** What can be limited, by the names in the API: resources, and what the registry stores. */
export type ResourceKind =
  | Exclude<ResourceTable, keyof KindNames>
  | KindNames[keyof KindNames]
  | 'manifests'
  | 'storage_mib'

/** Returns the kind of the resources in a table. */
export function kindOfTable(table: ResourceTable): ResourceKind {
  return table in kindNames
    ? kindNames[table as keyof KindNames]
    : (table as Exclude<ResourceTable, keyof KindNames>)
}

export const resourceKinds: readonly ResourceKind[] = [
  ...resourceTables.map(kindOfTable),
  'manifests',
  'storage_mib',
]

/** Kinds that are not named have no limit. */
export type ResourceLimits = Readonly<Partial<Record<ResourceKind, number>>>

const INT32_MAX = 2 ** 31 - 1

/** Parses `identities=500`, or `none` to remove a limit; undefined if the text is invalid. */
export function parseResourceLimit(
  text: string,
): { readonly kind: ResourceKind; readonly n: number | undefined } | undefined {
  const [, name = '', value = ''] = /^([a-z_]+)=([0-9]{1,10}|none)$/.exec(text) ?? []
  const kind = resourceKinds.find((known) => known === name)
  if (kind === undefined) return undefined
  if (value === 'none') return { kind, n: undefined }
  return Number(value) > INT32_MAX ? undefined : { kind, n: Number(value) }
}
