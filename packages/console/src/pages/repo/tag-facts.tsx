import type { TagDetails } from '@berth/client'
import { Badge } from '../../components/badge.tsx'
import { plural } from '../../components/quantity.tsx'

/** What a tag points to, and what applies to it. */

/** `missing`: why the user cannot list manifests. */
export function targetText({ target, artifactType, platforms }: TagDetails, missing?: string): string {
  switch (target) {
    case 'TAG_TARGET_IMAGE':
      return 'Image'
    case 'TAG_TARGET_INDEX':
      return platforms.length === 0 ? 'Index' : `Index, ${plural(platforms.length, 'platform')}`
    case 'TAG_TARGET_ARTIFACT':
      return artifactType === '' ? 'Artifact' : artifactType
    default:
      return missing ?? 'Not in the repository'
  }
}

export function TagBadges({ details }: { readonly details: TagDetails }) {
  return (
    <>
      {details.tag?.deprecated === true && (
        <Badge tone="warn" title="Clients that pull it print a warning">
          deprecated
        </Badge>
      )}
      {details.immutable && (
        <Badge title="The policy of the repository keeps it from being moved or deleted">immutable</Badge>
      )}
      {details.hasSignature && (
        <Badge tone="good" title="A signature or a signed attestation is attached; it is not verified here">
          signed
        </Badge>
      )}
    </>
  )
}
