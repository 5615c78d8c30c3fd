import { composeInviteMail } from '../iam/invites/compose-invite-mail.ts'
import { startMailDelivery } from '../mail/delivery.ts'
import type { SmtpSettings } from '../mail/settings.ts'
import { createSmtp } from '../mail/smtp.ts'
import type { Log } from '../runtime/log.ts'
import type { Tracer } from '../runtime/tracer.ts'
import type { JobScheduler } from '../storage/jobs/job-scheduler.ts'
import type { Store } from '../storage/store.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/** The email that a server sends, by the room that composes it. */

export interface MailServiceOptions {
  readonly smtp: SmtpSettings
  readonly store: Store
  readonly authUrl: string
  readonly pollMs?: number | undefined
  readonly metrics: Metrics
  readonly tracer: Tracer | undefined
  readonly log: Log
}

export function startMail(options: MailServiceOptions): JobScheduler {
  const { smtp, store, authUrl, pollMs, metrics, tracer, log } = options
  // The sign-in is loaded with the first use.
  const passwordMail = () => import('../signin/passwords/password-mail.ts')
  return startMailDelivery({
    store,
    smtp: createSmtp(smtp),
    composers: {
      invite: composeInviteMail(store, authUrl),
      'password-reset': async (uid, data) =>
        (await passwordMail()).composePasswordReset(store, authUrl)(uid, data),
      'password-changed': async (uid, data) =>
        (await passwordMail()).composePasswordChanged(authUrl)(uid, data),
    },
    pollMs,
    tracer,
    onResult({ kind, uid, result, problem }) {
      metrics.recordMail(kind, result)
      if (result === 'failed') log.warn({ mail: uid, kind, problem }, 'an email was not sent')
      else if (result === 'retried')
        log.warn({ mail: uid, kind, problem }, 'sending an email failed; retrying')
      else if (result === 'sent') log.info({ mail: uid, kind }, 'sent an email')
    },
    onError: (err, mail) => log.error({ err, mail }, 'sending email failed; retrying'),
  })
}
