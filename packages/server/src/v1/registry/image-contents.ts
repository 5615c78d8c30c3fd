import { SbomFormat } from '@berth/contract/gen/berth/registry/v1/contents_pb.js'
import {
  ManifestDigestCountSchema,
  ManifestMetadataListSchema,
  RawSbomSchema,
  type Registry,
} from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { Sbom2_Source, Sbom2Schema } from '@berth/contract/gen/chainguard/platform/tenant/reports_pb.js'
import { create } from '@bufbuild/protobuf'
import { ApiError, Code, invalidArgument } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { limits } from '../../config/limits.ts'
import type { ContentsReader } from '../../contents/services/contents-reader.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import type { Handlers } from '../../pipeline/call.ts'

/** What images contain, in the messages of version 1. */

type Names = 'getSbom' | 'getRawSbom' | 'listManifestMetadata' | 'getManifestDigestCount'

const platformOf = (architecture: string) => (architecture === '' ? '' : `linux/${architecture}`)

export function imageContentsHandlers(
  reader: ContentsReader,
): Required<Pick<Handlers<typeof Registry>, Names>> {
  /** The SBOM that was given, otherwise one that is written. */
  const readSbom = async (repo: string, reference: string, arch: string) => {
    const image = await reader.requireImage({ repo, reference, platform: platformOf(arch) })
    try {
      return { image, isGiven: true, ...(await reader.readSbom(image, SbomFormat.UNSPECIFIED)) }
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== Code.NOT_FOUND) throw error
      return { image, isGiven: false, ...(await reader.readSbom(image, SbomFormat.SPDX)) }
    }
  }

  return {
    async getSbom({ digest, arch }, call) {
      const { image, isGiven, format, sbom } = await readSbom(requireScope(call).scope, digest, arch)
      const readTime = timestampOf(Number(image.read_ms))
      return create(Sbom2Schema, {
        id: image.digest,
        digest: image.digest,
        rawSbom: Buffer.from(sbom),
        format,
        lastSeen: readTime,
        ...(isGiven ? {} : { tool: 'berth', generatedAt: readTime }),
        source: isGiven ? Sbom2_Source.INGESTED : Sbom2_Source.GENERATED,
        graph: {
          nodes: (await reader.readPackages(image)).map(({ purl, name, version, license }) => ({
            package: { id: purl, purl, name, version, license },
          })),
        },
      })
    },

    async getRawSbom({ digest, reference, arch }, call) {
      const { sbom } = await readSbom(requireScope(call).scope, reference === '' ? digest : reference, arch)
      return create(RawSbomSchema, { rawSbom: sbom })
    },

    async listManifestMetadata({ items }, call) {
      const { scope: repo } = requireScope(call)
      if (items.length > limits.contentsMetadataImagesMax)
        throw invalidArgument('items', `must have at most ${limits.contentsMetadataImagesMax} images`)
      const found = []
      for (const { imageDigest, indexFilter } of items) {
        const image = await reader.requireImage(
          {
            repo,
            reference: indexFilter?.digest ?? imageDigest,
            platform: platformOf(indexFilter?.arch ?? ''),
          },
          'items',
        )
        if (image.source === '') continue
        const packages = await reader.readPackages(image)
        found.push({
          digest: image.digest,
          pkgMetadata: packages.map((one) => ({
            purl: one.purl,
            originPurl: reader.originPurl(one),
            license: one.license,
            ...(one.endOfLifeMs !== undefined && { eolDate: timestampOf(one.endOfLifeMs) }),
            ...(one.builtMs !== undefined && { buildTimestamp: timestampOf(one.builtMs) }),
          })),
        })
      }
      return create(ManifestMetadataListSchema, { items: found })
    },

    async getManifestDigestCount(_request, call) {
      const count = await reader.countDigests(requireScope(call).scope)
      return create(ManifestDigestCountSchema, { count: BigInt(count) })
    },
  }
}
