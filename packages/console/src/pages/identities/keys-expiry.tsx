import type { Identity } from '@berth/client'
import { EXPIRES_SOON_MS } from '../../api/queries/iam/pull-tokens.ts'
import { Badge } from '../../components/badge.tsx'
import { Time } from '../../components/time.tsx'

/** When the static keys of an identity expire, and whether that is soon. Nothing for identities without. */
export function KeysExpiry({ identity }: { readonly identity: Identity }) {
  const expires = identity.staticKeys?.expirationTime
  if (expires === undefined) return <span className="muted">–</span>
  const left = Date.parse(expires) - Date.now()
  return (
    <>
      <Time value={expires} isRelative />
      {left <= 0 && <Badge tone="bad">expired</Badge>}
      {left > 0 && left < EXPIRES_SOON_MS && <Badge tone="warn">Expires soon</Badge>}
    </>
  )
}
