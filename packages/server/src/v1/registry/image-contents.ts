import { SbomFormat } from '@berth/contract/gen/berth/registry/v1/contents_pb.js'
import {
  ManifestDigestCountSchema,
  ManifestMetadataListSchema,
  RawSbomSchema,
  type Registry,
} from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import {
  ComponentGraph_Edge_Type,
  Sbom2_Source,
  Sbom2Schema,
} from '@berth/contract/gen/chainguard/platform/tenant/reports_pb.js'
import type { ImagePackage } from '@berth/image-contents/contents.ts'
import type { RelationKind } from '@berth/image-contents/sbom/sbom-document.ts'
import { create } from '@bufbuild/protobuf'
import { ApiError, Code, invalidArgument } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { limits } from '../../config/limits.ts'
import { IMAGE, type SbomMetadata } from '../../contents/reading/reading.ts'
import type { ContentsReader } from '../../contents/services/contents-reader.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import type { Handlers } from '../../pipeline/call.ts'

/** What images contain, in the messages of version 1. */

type Names = 'getSbom' | 'getRawSbom' | 'listManifestMetadata' | 'getManifestDigestCount'

const platformOf = (architecture: string) => (architecture === '' ? '' : `linux/${architecture}`)

function statedFields({ name, tools, authors, createdMs }: SbomMetadata) {
  return {
    name,
    tool: tools.join(', '),
    authors: authors.join(', '),
    ...(createdMs !== undefined && { generatedAt: timestampOf(createdMs) }),
  }
}

const edgeTypes: Record<RelationKind, ComponentGraph_Edge_Type> = {
  contains: ComponentGraph_Edge_Type.CONTAINS,
  dependsOn: ComponentGraph_Edge_Type.DEPENDS_ON,
  generatedFrom: ComponentGraph_Edge_Type.GENERATED_FROM,
}

/** Each package is one node, and the image is one if the SBOM relates it to packages. */
function componentGraph(
  digest: string,
  packages: readonly ImagePackage[],
  metadata: SbomMetadata | undefined,
) {
  const { name = '', relations = [] } = metadata ?? {}
  const isImageRelated = relations.some(([, ...ends]) => ends.includes(IMAGE))
  const nodes = new Map(
    packages.map(({ purl, name, version, license }) => [purl, { id: purl, purl, name, version, license }]),
  )
  const idAt = (end: number) => (end === IMAGE ? digest : (packages[end]?.purl ?? ''))
  return {
    nodes: [
      ...(isImageRelated ? [{ package: { id: digest, name } }] : []),
      ...[...nodes.values()].map((node) => ({ package: node })),
    ],
    edges: relations.map(([kind, from, to]) => ({
      subjectId: idAt(from),
      predicateId: idAt(to),
      type: edgeTypes[kind],
    })),
  }
}

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
      const metadata = isGiven ? await reader.readMetadata(image) : undefined
      const packages = await reader.readPackages(image)
      return create(Sbom2Schema, {
        id: image.digest,
        digest: image.digest,
        rawSbom: Buffer.from(sbom),
        format,
        lastSeen: readTime,
        ...(isGiven ? metadata && statedFields(metadata) : { tool: 'berth', generatedAt: readTime }),
        source: isGiven ? Sbom2_Source.INGESTED : Sbom2_Source.GENERATED,
        graph: componentGraph(image.digest, packages, metadata),
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
