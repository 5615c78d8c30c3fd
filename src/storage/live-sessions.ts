/**
 * What makes a row of sessions count besides that it is there and not expired, as a condition in SQL: its account is not disabled,
 * and its identity provider has not been deleted. Both end the sessions when they happen; a sign-in that was under way in that
 * moment is caught here.
 *
 * `sessions`: what the statement calls the table.
 */
export function sessionCounts(sessions: string): string {
  return `not exists (select 1 from accounts a where a.identity_uid = ${sessions}.identity_uid and a.disabled <> 0)
    and (${sessions}.provider_uid = '' or exists (select 1 from identity_providers p
      where p.root = substr(${sessions}.provider_uid, 1, 40) and p.uid = ${sessions}.provider_uid))`
}
