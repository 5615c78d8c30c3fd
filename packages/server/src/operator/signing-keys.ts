import type { Installation } from '../installation/installation.ts'
import { recordEvent } from '../storage/changes/audit-events.ts'
import { ensureFirstOrganization } from './bootstrap.ts'

/** The signing keys, for the operator to list and replace, with access to the database and no token. */

export interface SigningKeySummary {
  readonly kid: string
  readonly algorithm: string
  /** `next`: published, signs later. `signing`: signs now. `published`: no longer signs. */
  readonly state: 'next' | 'signing' | 'published'
  readonly createTime: string
  readonly signsFromTime: string
  /** No longer published from here on. */
  readonly expireTime: string
}

export async function listSigningKeys({ keys }: Pick<Installation, 'keys'>): Promise<SigningKeySummary[]> {
  const time = (ms: number) => new Date(ms).toISOString()
  return (await keys.list()).map(({ kid, algorithm, state, createdMs, signsFromMs, expiresMs }) => ({
    kid,
    algorithm,
    state,
    createTime: time(createdMs),
    signsFromTime: time(signsFromMs),
    expireTime: time(expiresMs),
  }))
}

/** Creates the next key; `now`: withdraws all others immediately. The audit log of the first organization records it. */
export async function rotateSigningKeys(
  installation: Installation,
  { now }: { readonly now: boolean },
): Promise<SigningKeySummary[]> {
  const { organization } = await ensureFirstOrganization(installation)
  const { clock } = installation.store
  await installation.keys.rotate({
    now,
    with: (tx) =>
      recordEvent(tx, {
        timeMs: clock(),
        actor: 'system',
        method: `berth admin keys rotate${now ? ' --now' : ''}`,
        uid: organization.uid,
        requestId: '',
        address: '',
      }),
  })
  return listSigningKeys(installation)
}
