import { depthOf, parseUid } from '../../api/uid.ts'
import type { OrganizationVoucher, SessionVoucher } from '../../pipeline/vouching.ts'
import type { SessionRow } from '../../storage/schema/tables.ts'
import type { SqlText } from '../../storage/sql-text.ts'

/**
 * Returns the SQL condition under which an unexpired row of sessions is valid: its account is not disabled, its voucher is recorded, and
 * the identity provider that vouched still exists. Disabling and deleting also end the sessions; the condition covers a sign-in that
 * finishes at the same moment.
 *
 * `table`: the name of the table in the statement.
 */
export function validSessionSql(table: string): string {
  return `not exists (select 1 from accounts a where a.identity_uid = ${table}.identity_uid and a.disabled <> 0)
    and (${table}.vouched_by in ('account', 'operator')
      or (${table}.vouched_by = 'organization' and exists (select 1 from identity_providers p
        where p.root = substr(${table}.provider_uid, 1, 40) and p.uid = ${table}.provider_uid)))`
}

/** The same condition with the expiry, for rows of sessions named `s`. */
export function currentSessionSql(sql: SqlText, nowMs: number): string {
  return `s.expires_ms > ${sql.bind(nowMs)} and ${validSessionSql('s')}`
}

export type VoucherColumns = Pick<SessionRow, 'vouched_by' | 'provider_uid' | 'vouched_email'>

export function voucherColumns(voucher: SessionVoucher): VoucherColumns {
  const { provider, email }: Pick<OrganizationVoucher, 'email'> & { readonly provider: string } =
    voucher.kind === 'organization' ? voucher : { provider: '', email: '' }
  return { vouched_by: voucher.kind, provider_uid: provider, vouched_email: email }
}

/** Returns undefined if no voucher is recorded: such a session is valid nowhere. */
export function readVoucher(row: VoucherColumns): SessionVoucher | undefined {
  const { vouched_by: kind, provider_uid, vouched_email: email } = row
  if (kind === 'account' || kind === 'operator') return { kind }
  const provider = parseUid(provider_uid)
  return kind === 'organization' && provider !== undefined && depthOf(provider) > 0
    ? { kind, provider, email }
    : undefined
}
