import type { ResourceUsage, Usage as UsageMessage } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { usageQuery } from '../../api/queries/organization.ts'
import { Badge } from '../../components/badge.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { formatBytes, formatNumber } from '../../components/quantity.tsx'
import { capabilityName, titleOf } from './kinds.ts'
import type { SettingsTabProps } from './settings.tsx'
import { Trends } from './trends.tsx'

/** What an organization uses, against its limits and over time. */
export function Usage({ organization }: SettingsTabProps) {
  const { uid, name } = organization.value
  const query = useQuery(usageQuery(uid))
  return (
    <>
      {query.data === undefined ? <NotLoaded what="usage" query={query} /> : <Levels usage={query.data} />}
      <Trends uid={uid} storedBytesLimit={query.data?.storedBytesLimit} />
      <Equivalent command={`berth usage ${quoted(name)}`} />
    </>
  )
}

/** Warnings start above this share of a limit, as in pushes. */
const NEAR = 0.9

interface Level {
  readonly id: string
  readonly title: string
  /** undefined: the user lacks `missing`. */
  readonly used: number | undefined
  readonly limit: number | undefined
  readonly missing: string | undefined
  readonly format: (value: number) => string
}

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text))

function levelsOf({ storedBytes, storedBytesLimit, resources }: UsageMessage): readonly Level[] {
  const bytes: Level = {
    id: 'stored_bytes',
    title: 'Stored bytes',
    used: numberOf(storedBytes),
    limit: numberOf(storedBytesLimit),
    missing: 'manifest.list',
    format: formatBytes,
  }
  const others = resources.map(
    ({ kind, used, limit, missing }: ResourceUsage): Level => ({
      id: kind,
      title: titleOf(kind),
      used: numberOf(used),
      limit: numberOf(limit),
      missing: capabilityName(missing),
      format: formatNumber,
    }),
  )
  return [bytes, ...others]
}

const isNear = ({ used, limit }: Level) => used !== undefined && limit !== undefined && used > limit * NEAR

function Levels({ usage }: { readonly usage: UsageMessage }) {
  const levels = levelsOf(usage)
  const near = levels.filter(isNear)
  const limited = levels.filter(({ limit }) => limit !== undefined)
  const unlimited = levels.filter(({ limit }) => limit === undefined)
  return (
    <>
      {near.length > 0 && (
        <div className="alert" role="alert">
          <p>
            Near or at the limit: {near.map(({ title }) => title.toLowerCase()).join(', ')}. Beyond a limit
            the server rejects new ones. Delete what is not needed, or ask the operator for a higher limit.
          </p>
        </div>
      )}
      {limited.length > 0 && (
        <section aria-labelledby="limits">
          <h2 id="limits">Limits</h2>
          <ul className="meters">
            {limited.map((level) => (
              <Meter key={level.id} level={level} />
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="unlimited">
        <h2 id="unlimited">{limited.length > 0 ? 'Without a limit' : 'In use'}</h2>
        {limited.length === 0 && (
          <p className="muted">This organization has no limits. The operator of this server sets them.</p>
        )}
        <dl className="facts">
          {unlimited.map(({ id, title, used, missing, format }) => (
            <div key={id}>
              <dt>{title}</dt>
              <dd>
                {used === undefined ? (
                  <span className="hint">Requires the capability {missing}</span>
                ) : (
                  format(used)
                )}
              </dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  )
}

function Meter({ level }: { readonly level: Level }) {
  const { id, title, used, limit = 0, missing, format } = level
  return (
    <li>
      <span className="meter-title" id={`meter-${id}`}>
        {title}
        {isNear(level) && (
          <Badge tone="warn">{(used ?? 0) >= limit ? 'at the limit' : 'near the limit'}</Badge>
        )}
      </span>
      {used === undefined ? (
        <span className="hint">
          {format(limit)} at most. Requires the capability {missing}
        </span>
      ) : (
        <>
          <span className="meter-value">
            {format(used)} of {format(limit)}
          </span>
          <meter
            aria-labelledby={`meter-${id}`}
            max={Math.max(limit, 1)}
            high={limit * NEAR}
            optimum={0}
            value={used}
          >
            {format(used)} of {format(limit)}
          </meter>
        </>
      )}
    </li>
  )
}
