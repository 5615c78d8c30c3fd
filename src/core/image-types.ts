/** Media types of manifests, of OCI and of Docker, which mean the same. */
export const mediaTypes = {
  image: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  dockerImage: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
} as const

const images: readonly string[] = [mediaTypes.image, mediaTypes.dockerImage]
const indexes: readonly string[] = [mediaTypes.index, mediaTypes.dockerList]

export const manifestTypes: readonly string[] = [...indexes, ...images]

interface Typed {
  readonly mediaType: string
}

export function isIndex({ mediaType }: Typed): boolean {
  return indexes.includes(mediaType)
}

/** What an index names besides manifests, of whatever type, is a blob. */
export function isManifest({ mediaType }: Typed): boolean {
  return manifestTypes.includes(mediaType)
}

/** False for layers that their makers do not let others give out: they are had from elsewhere. */
export function isDistributable({ mediaType }: Typed): boolean {
  return !/^application\/vnd\.(docker\.image\.rootfs\.foreign\.|oci\.image\.layer\.nondistributable\.)/.test(
    mediaType,
  )
}
