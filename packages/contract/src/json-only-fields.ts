/**
 * Fields that version 1 of the API has in JSON but not in its schema, which must equal that of other implementations. Such a value is a
 * property of the message, and gRPC ignores it.
 */

/** Type of a value: text, or a message of google.protobuf. */
export type JsonOnlyKind = 'string' | 'google.protobuf.Timestamp'

const createAndUpdateTimes = {
  createdAt: 'google.protobuf.Timestamp',
  updatedAt: 'google.protobuf.Timestamp',
} as const

/** Fields by message type, then by name. Missing text is omitted; a missing message is `null`. */
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
