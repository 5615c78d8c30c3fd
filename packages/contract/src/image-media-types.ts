/** Media types of manifests, of OCI and of Docker, which mean the same. */
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

/** What an index names besides manifests, of whatever type, is a blob. */
export function isManifest({ mediaType }: HasMediaType): boolean {
  return manifestMediaTypes.includes(mediaType)
}

/** False for layers that their makers do not let others give out: they are had from elsewhere. */
export function isDistributable({ mediaType }: HasMediaType): boolean {
  return !/^application\/vnd\.(docker\.image\.rootfs\.foreign\.|oci\.image\.layer\.nondistributable\.)/.test(
    mediaType,
  )
}
