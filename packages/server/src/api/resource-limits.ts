/** How many resources of a kind an organization may hold. */

/** What can be limited, by the names that the API uses. */
export const resourceKinds = [
  'groups',
  'identities',
  'roles',
  'role_bindings',
  'idps',
  'account_associations',
  'group_invites',
  'repos',
  'tags',
  'external_group_role_mappings',
  'advisories',
  'advisory_feeds',
  'manifests',
  'storage_mib',
] as const
export type ResourceKind = (typeof resourceKinds)[number]

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
