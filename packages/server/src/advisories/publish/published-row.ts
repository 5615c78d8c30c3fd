import type { PublishedAdvisory } from '@berth/advisory-formats/publishing/published-advisory.ts'
import { ReviewState } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { AdvisoryRow } from '../../storage/schema/tables.ts'
import { type AdvisoryContentRow, toAdvisory } from '../storage/stored-advisory.ts'

/** The columns that are read for publication; `deleted_ms` only of withdrawn advisories. */
export type PublishedRow = AdvisoryContentRow &
  Pick<AdvisoryRow, 'origin' | 'product' | 'component_product'> &
  Partial<Pick<AdvisoryRow, 'osv'>>

/** The approved part of an advisory. */
export function toPublishedAdvisory(row: PublishedRow): PublishedAdvisory {
  const advisory = toAdvisory(row)
  advisory.events = advisory.events.filter(({ reviewState }) => reviewState === ReviewState.APPROVED)
  const { origin, product, component_product: componentProduct, osv } = row
  return { advisory, origin, product, componentProduct, ...(osv !== undefined && { osv }) }
}
