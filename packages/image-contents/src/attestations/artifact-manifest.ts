/** The fields of OCI manifests and indexes that state what they hold. */
export interface ArtifactManifest {
  readonly mediaType?: string | undefined
  readonly artifactType?: string | undefined
  readonly config?: ArtifactDescriptor | undefined
  readonly layers?: readonly ArtifactDescriptor[] | undefined
  readonly manifests?: readonly ArtifactDescriptor[] | undefined
  readonly subject?: ArtifactDescriptor | undefined
  readonly annotations?: Annotations | undefined
}

export type Annotations = Readonly<Record<string, string>>

export interface ArtifactDescriptor {
  readonly mediaType: string
  readonly digest: string
  /** Bytes. */
  readonly size: number
  readonly artifactType?: string | undefined
  readonly annotations?: Annotations | undefined
}
