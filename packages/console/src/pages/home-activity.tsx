import type { Tag } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { parentOf } from '../api/queries/groups.ts'
import { type Activity, activityQuery, EXPIRING_DAYS, isPullToken } from '../api/queries/home.ts'
import { Problem } from '../components/problem.tsx'
import { formatNumber } from '../components/quantity.tsx'
import { Time } from '../components/time.tsx'

/** Recent pushes, open invites and tokens that expire soon, of everything that the user may see. */

const SHOWN_MAX = 8

export function HomeActivity() {
  const { data, error, refetch } = useQuery(activityQuery)
  if (data === undefined)
    return error === null ? (
      <p className="muted" role="status">
        Loading recent activity…
      </p>
    ) : (
      <Problem title="Recent activity not available" failure={error} onRetry={() => void refetch()} />
    )
  return (
    <div className="home-cards">
      <Card
        title="Recent pushes"
        empty="No images have been pushed yet."
        items={data.pushes.map((tag) => pushItem(tag, data))}
      />
      <Card title="Open invites" empty="No invites are open." items={inviteItems(data)} />
      <Card
        title={`Expire within ${EXPIRING_DAYS} days`}
        empty="No pull tokens or static keys expire soon."
        items={expiringItems(data)}
        total={data.expiringCount}
      />
    </div>
  )
}

interface Item {
  readonly key: string
  readonly title: ReactNode
  readonly detail: ReactNode
}

interface CardProps {
  readonly title: string
  readonly empty: string
  readonly items: readonly Item[]
  /** If the items are the first of more. */
  readonly total?: number
}

function Card({ title, empty, items, total = items.length }: CardProps) {
  const rest = total - Math.min(items.length, SHOWN_MAX)
  return (
    <section className="card">
      <h2>{title}</h2>
      {items.length === 0 ? (
        <p className="muted">{empty}</p>
      ) : (
        <ul className="plain-list">
          {items.slice(0, SHOWN_MAX).map(({ key, title: text, detail }) => (
            <li key={key}>
              <bdi>{text}</bdi>
              <span className="second">{detail}</span>
            </li>
          ))}
        </ul>
      )}
      {rest > 0 && <p className="muted">And {formatNumber(rest)} more.</p>}
    </section>
  )
}

function pushItem({ uid, name, updateTime }: Tag, { names }: Activity): Item {
  return {
    key: uid,
    title: (
      <Link to="/tags/$" params={{ _splat: uid }} search={{}}>
        {names.get(uid)?.path ?? name}
      </Link>
    ),
    detail: <Time value={updateTime} isRelative />,
  }
}

function inviteItems({ invites, names }: Activity): Item[] {
  return invites.map(({ uid, email, role, roleUid, expirationTime }) => {
    const folder = parentOf(uid)
    const where = names.get(uid)?.path || folder
    return {
      key: uid,
      title: (
        <Link to="/folders/$" params={{ _splat: folder }} search={{ tab: 'invites' }}>
          {email || 'Anyone with the link'}
        </Link>
      ),
      detail: (
        <>
          {role?.name ?? roleUid} in <bdi>{where}</bdi>, expires <Time value={expirationTime} isRelative />
        </>
      ),
    }
  })
}

function expiringItems({ expiring, names }: Activity): Item[] {
  return expiring.map((identity) => {
    const { uid, name, staticKeys } = identity
    const folder = parentOf(uid)
    const title = names.get(uid)?.path ?? name
    return {
      key: uid,
      title: isPullToken(identity) ? (
        <Link to="/folders/$" params={{ _splat: folder }} search={{ tab: 'pull-tokens' }}>
          {title}
        </Link>
      ) : (
        <Link to="/identities/$" params={{ _splat: uid }} search={{}}>
          {title}
        </Link>
      ),
      detail: (
        <>
          {isPullToken(identity) ? 'Pull token' : 'Static key'}, expires{' '}
          <Time value={staticKeys?.expirationTime} isRelative />
        </>
      ),
    }
  })
}
