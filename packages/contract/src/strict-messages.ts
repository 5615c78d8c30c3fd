/**
 * Messages of version 1 in which REST rejects unknown members, as newer versions do everywhere. They define who can assume an identity: if a
 * misspelled condition were ignored, more callers than intended could.
 */
export const strictMessages: ReadonlySet<string> = new Set(
  ['ClaimMatch', 'StaticKeys', 'AWSIdentity'].map((name) => `chainguard.platform.iam.Identity.${name}`),
)
