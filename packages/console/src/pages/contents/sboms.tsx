import type { ImageContents, SbomFormat } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { type ImageReference, readSbom } from '../../api/queries/contents/packages.ts'
import { messageOf } from '../../api/query-client.ts'
import { Actions } from '../../components/actions.tsx'
import { Command, quoted } from '../../components/copy.tsx'
import { saveFile } from '../../download.ts'

interface SbomKind {
  readonly format: SbomFormat
  readonly title: string
  /** Of the command line. */
  readonly option: string
}

const kinds: readonly SbomKind[] = [
  { format: 'SBOM_FORMAT_SPDX', title: 'SPDX 2.3', option: 'spdx' },
  { format: 'SBOM_FORMAT_CYCLONEDX', title: 'CycloneDX 1.6', option: 'cyclonedx' },
  { format: 'SBOM_FORMAT_UNSPECIFIED', title: 'as attached', option: 'original' },
]

interface SbomsProps {
  readonly image: ImageReference
  readonly contents: ImageContents
  /** Path of the repository. */
  readonly path: string
}

/** Downloads of the SBOM of an image: written from its packages, and as it was given. */
export function Sboms({ image, contents, path }: SbomsProps) {
  const { mutate, error, isPending } = useMutation({
    mutationFn: async ({ format }: SbomKind) => {
      const { sbom, digest, format: written } = await readSbom(image, format)
      saveFile(fileName(digest, written), new Blob([sbom], { type: 'application/json' }))
    },
  })
  const hasOriginal = contents.sbomFormat !== ''
  const suffix = image.platform === '' ? '' : ` --platform ${quoted(image.platform)}`
  return (
    <section>
      <h2>SBOM</h2>
      <p className="muted">
        {hasOriginal
          ? 'The image has an SBOM. The other formats are written from its packages.'
          : 'The image has no SBOM. These documents are written from its packages.'}
      </p>
      {error !== null && (
        <p className="alert" role="alert">
          {messageOf(error)}
        </p>
      )}
      <Actions
        of="tab"
        actions={kinds
          .filter(({ format }) => format !== 'SBOM_FORMAT_UNSPECIFIED' || hasOriginal)
          .map((kind) => ({
            label: `Download ${kind.title}`,
            isQuiet: true,
            missing: isPending ? 'Preparing the document' : undefined,
            onPress: () => mutate(kind),
          }))}
      />
      <Command
        text={`berth images sbom ${quoted(`${path}@${image.reference}`)}${suffix} --format ${kinds[0]?.option}`}
        label="the command for the SBOM"
      />
    </section>
  )
}

const SHOWN_CHARACTERS = 12

const fileName = (digest: string, format: string): string =>
  `${digest.replace(/^sha\d+:/, '').slice(0, SHOWN_CHARACTERS)}.${format.replaceAll(/[^\w.-]/g, '-')}.json`
