import type { Context } from 'hono'
import { Code } from '../../api/errors.ts'
import { type AuditEvent, recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction } from '../../storage/db.ts'
import type { Session } from '../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import type { AuthorizationRequest } from '../oauth/authorization-requests.ts'

/** Audit events of the flows: users who authorize a client, and users who deny the request. */

export function flowEvent(
  c: Context<SignInEnv>,
  { store, requestMetadataOf }: SignInContext,
  actor: string,
  method: string,
): AuditEvent {
  return {
    timeMs: store.clock(),
    actor,
    method: `berth.signin/${method}`,
    uid: actor,
    requestId: c.env.requestId,
    address: requestMetadataOf(c).address,
  }
}

const methods: Readonly<Record<AuthorizationRequest['reply']['kind'], string>> = {
  code: 'AuthorizeClient',
  loopback: 'AuthorizeBrowserFlow',
  headless: 'AuthorizeHeadless',
  device: 'AuthorizeDevice',
  none: 'AcceptInvite',
}

export async function recordDecision(
  c: Context<SignInEnv>,
  context: SignInContext,
  { identity }: Session,
  { reply }: AuthorizationRequest,
  agreed: boolean,
): Promise<void> {
  const event = flowEvent(c, context, identity, methods[reply.kind])
  if (agreed && reply.kind === 'none') return // Accepting the invite is recorded by itself.
  if (agreed) await inTransaction(context.store.db, (tx) => recordEvent(tx, event))
  else context.audit.recordDenial(event, { code: Code.PERMISSION_DENIED, reason: 'the person refused' })
}
