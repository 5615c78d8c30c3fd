import type {
  AccountAssociation_Amazon,
  AccountAssociation_Azure,
  AccountAssociation_Google,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'

/** The port through which cloud providers are tried out. What the callers of the API get to see of it are the words here. */

export type Reason = 'not configured' | 'refused by the provider' | 'unreachable' | 'unexpected answer'

/** How a try went. The message is ours: nothing that a provider wrote is in it. */
export interface ProbeResult {
  readonly ready: boolean
  /** Empty when ready. */
  readonly reason: Reason | ''
  /** A sentence or more for who has to mend it; empty when ready. */
  readonly message: string
}

export interface ProbeCall {
  /** uid of the group that the account is tied to. */
  readonly group: string
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal | undefined
}

/** Obtains credentials of an account as real work would, and throws them away. What goes wrong outside is a result. */
export interface CloudProbe<Account> {
  check(account: Account, call: ProbeCall): Promise<ProbeResult>
}

export interface CloudProbes {
  readonly amazon: CloudProbe<AccountAssociation_Amazon>
  readonly google: CloudProbe<AccountAssociation_Google>
  readonly azure: CloudProbe<AccountAssociation_Azure>
}

export const ready: ProbeResult = { ready: true, reason: '', message: '' }

export function notReady(reason: Reason, message: string): ProbeResult {
  return { ready: false, reason, message }
}
