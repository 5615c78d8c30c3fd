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
] as const
export type ResourceTable = (typeof resourceTables)[number]
