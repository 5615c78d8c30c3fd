import type {
  AccountAssociation_Amazon,
  AccountAssociation_Azure,
  AccountAssociation_Google,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'

/** The interface through which cloud providers are checked. Callers of the API see only the texts defined here. */

export type Reason = 'not configured' | 'refused by the provider' | 'unreachable' | 'unexpected answer'

/** The result of a check. The message is ours: it contains nothing that a provider wrote. */
export interface ProbeResult {
  readonly ready: boolean
  /** Empty when ready. */
  readonly reason: Reason | ''
  /** What the owner of the account has to fix, in one or more sentences; empty when ready. */
  readonly message: string
}

export interface ProbeCall {
  /** uid of the group that the association belongs to. */
  readonly group: string
  /** Aborted when the caller no longer waits for the result. */
  readonly signal: AbortSignal | undefined
}

/** Obtains credentials of an account as a service would, and discards them. External failures are results, not errors. */
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
