/**
 * What REST shows of a message although the message has no field for it: version 1 of the API has more in JSON than in its
 * schema, which other implementations fix. Such a value is a property of the message like any other, and gRPC passes over it.
 */

/** What a value is: text, or a message of google.protobuf. */
export type JsonOnlyKind = 'string' | 'google.protobuf.Timestamp'

const createAndUpdateTimes = {
  createdAt: 'google.protobuf.Timestamp',
  updatedAt: 'google.protobuf.Timestamp',
} as const

/** By type of message, then by name. Text that a message lacks is left out; a message is `null`. */
export const jsonOnlyFields: Readonly<Record<string, Readonly<Record<string, JsonOnlyKind>> | undefined>> = {
  'chainguard.platform.iam.Group': createAndUpdateTimes,
  'chainguard.platform.iam.Role': createAndUpdateTimes,
  'chainguard.platform.iam.RoleBinding': { createdAt: 'google.protobuf.Timestamp' },
  'chainguard.platform.iam.IdentityProvider': createAndUpdateTimes,
  'chainguard.platform.iam.AccountAssociations': { id: 'string', ...createAndUpdateTimes },
  'chainguard.platform.iam.GroupInvite': { createdAt: 'google.protobuf.Timestamp' },
  'chainguard.platform.registry.Repo': createAndUpdateTimes,
  'chainguard.platform.registry.Tag': { updatedAt: createAndUpdateTimes.updatedAt },
}
