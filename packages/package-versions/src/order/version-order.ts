/** The order of the versions of one ecosystem. */
export interface VersionOrder<T> {
  /** Returns undefined if the text is no version of the ecosystem. */
  readonly parse: (text: string) => T | undefined
  /** Returns a negative number if `a` is older, 0 if they are equal, a positive number if `a` is newer. */
  readonly compare: (a: T, b: T) => number
}
