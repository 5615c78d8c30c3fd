/** The tables whose rows are resources of the tree: listed, counted, limited, tombstoned. storage/schema/tables.ts has their columns. */
export const resourceTables = [
  'groups',
  'identities',
  'roles',
  'role_bindings',
  'repos',
  'identity_providers',
  'external_group_role_mappings',
  'account_associations',
  'group_invites',
  'tags',
  'advisories',
  'advisory_feeds',
] as const
export type ResourceTable = (typeof resourceTables)[number]
