import { createSeverityRater, type Rating } from '@berth/advisory-formats/severity/severity-ratings.ts'
import type { Severity } from '@berth/client'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Badge } from '../../components/badge.tsx'
import { toneOfSeverity } from '../../components/severity.ts'

/** Severities, rated from their CVSS vectors as the command line does. The calculator is loaded on use. */

const raterQuery = queryOptions({
  queryKey: ['severity-rater'],
  queryFn: async () => {
    const calculator = await import('ae-cvss-calculator')
    return createSeverityRater(() => calculator)
  },
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
  refetchInterval: false,
  refetchOnWindowFocus: false,
})

/** Undefined until the calculator is loaded. */
export const useSeverityRater = () => useQuery(raterQuery).data

export function RatingBadge({ rating: { score, label, vector } }: { readonly rating: Rating }) {
  return (
    <Badge tone={toneOfSeverity(label)} title={vector}>
      {score.toFixed(1)} {label}
    </Badge>
  )
}

/** The highest score of the newest CVSS version that is known. */
export function SeverityBadge({ severities }: { readonly severities: readonly Severity[] }) {
  const rater = useSeverityRater()
  const rating = rater?.worstRating(severities)
  if (rating !== undefined) return <RatingBadge rating={rating} />
  return (
    <span className="muted">{rater === undefined && severities.length > 0 ? 'Loading…' : 'no score'}</span>
  )
}
