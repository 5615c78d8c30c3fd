/** What the tabs about the contents of an image know of it. */
export interface ImageTabProps {
  /** uid of the repository. */
  readonly repo: string
  /** Path of the repository, as the command line has it. */
  readonly path: string
  readonly digest: string
  /** Platforms of the images of an index; empty for an image. */
  readonly platforms: readonly string[]
}
