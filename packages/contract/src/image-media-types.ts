/** Media types of manifests: equivalent ones of OCI and Docker. */
export const imageMediaTypes = {
  image: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  dockerImage: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
} as const

const imageManifestTypes: readonly string[] = [imageMediaTypes.image, imageMediaTypes.dockerImage]
const indexTypes: readonly string[] = [imageMediaTypes.index, imageMediaTypes.dockerList]

export const manifestMediaTypes: readonly string[] = [...indexTypes, ...imageManifestTypes]

interface HasMediaType {
  readonly mediaType: string
}

export function isIndex({ mediaType }: HasMediaType): boolean {
  return indexTypes.includes(mediaType)
}

/** Returns whether a media type is a manifest. Entries of an index that are not manifests are blobs. */
export function isManifest({ mediaType }: HasMediaType): boolean {
  return manifestMediaTypes.includes(mediaType)
}

/** Returns whether a layer can be distributed; false for non-distributable layers, which are fetched from other URLs. */
export function isDistributable({ mediaType }: HasMediaType): boolean {
  return !/^application\/vnd\.(docker\.image\.rootfs\.foreign\.|oci\.image\.layer\.nondistributable\.)/.test(
    mediaType,
  )
}
