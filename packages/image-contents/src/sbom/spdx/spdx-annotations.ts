import { documentLimits } from '../../documents/document-limits.ts'
import { type JsonObject, looseObjectsIn, rawText, shown } from '../../documents/json-values.ts'
import { layerDigest } from '../package-collector.ts'

/** Properties of packages that SPDX 2 has no fields for, as trivy and the writer of this package annotate them: `NAME: VALUE`. */
interface SpdxAnnotations {
  readonly ecosystem: string
  readonly path: string
  readonly layer: string
  readonly architecture: string
}

/** Names that the writer uses. */
export const annotationNames = { path: 'Path', layer: 'LayerDigest', architecture: 'Architecture' } as const

const COMMENT_CHARS_MAX = documentLimits.sbomPathCharsMax + 100

export function annotationsOf(element: JsonObject): SpdxAnnotations {
  const values = new Map<string, string>()
  for (const annotation of looseObjectsIn(element, 'annotations', documentLimits.reportListMax)) {
    const comment = shown(rawText(annotation, 'comment'), COMMENT_CHARS_MAX)
    const end = comment.indexOf(': ')
    if (end > 0 && !values.has(comment.slice(0, end)))
      values.set(comment.slice(0, end), comment.slice(end + 2))
  }
  return {
    ecosystem: values.get('PkgType') ?? '',
    path: values.get(annotationNames.path) ?? '',
    layer:
      layerDigest(values.get(annotationNames.layer) ?? '') || layerDigest(values.get('LayerDiffID') ?? ''),
    architecture: values.get(annotationNames.architecture) ?? '',
  }
}
