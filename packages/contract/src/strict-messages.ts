/**
 * The messages of version 1 in which REST refuses members that they do not have, as newer versions do everywhere: they say who may
 * assume an identity, and a condition that is misspelled and passed over would let in more than was meant.
 */
export const strictMessages: ReadonlySet<string> = new Set(
  ['ClaimMatch', 'StaticKeys', 'AWSIdentity'].map((name) => `chainguard.platform.iam.Identity.${name}`),
)
