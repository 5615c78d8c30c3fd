import type { Installation } from '../installation/installation.ts'
import { commandActor, type OperatorActor } from './actor.ts'
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
  installation: Pick<Installation, 'store' | 'keys'>,
  { now }: { readonly now: boolean },
  actor: OperatorActor = commandActor(installation.store, `berth admin keys rotate${now ? ' --now' : ''}`),
): Promise<SigningKeySummary[]> {
  const { organization } = await ensureFirstOrganization(installation)
  await installation.keys.rotate({ now, with: (tx) => actor.record(tx, organization.uid) })
  return listSigningKeys(installation)
}
