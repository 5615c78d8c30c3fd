/** Limits of this package. */
export const versionLimits = {
  /** Characters of a version that is compared. The longest of the published versions that the tests compare has 69. */
  versionCharsMax: 1024,
} as const
