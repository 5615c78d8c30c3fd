import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import { checkEmail } from '../../api/fields.ts'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import { renderMail } from '../../mail/layout.ts'
import { createSmtp } from '../../mail/smtp.ts'
import { jsonOption } from '../options.ts'
import { readConfigOrExit, reportFailure } from '../with-installation.ts'

/** `berth admin mail test`: sends an email with the configuration of the server. */
export const testCommand: CommandDeclaration = {
  name: 'test',
  summary: 'Send a test email through the configured mail server',
  options: [{ flags: '--to <address>', summary: 'recipient' }, jsonOption],
  notes: `
Uses BERTH_SMTP_URL and the other settings of the environment; the server does not have to run.

Exit code 0: the mail server accepted the email. Exit code 1: it did not.`,
  examples: ['berth admin mail test --to ada@example.com'],
  run: ({ optionIfSet, output }) =>
    reportFailure(async () => {
      const to = optionIfSet('to') ?? ''
      const violation = checkEmail(to)
      if (violation !== undefined) throw new UsageError(`--to ${violation.description}`)
      const { smtp } = readConfigOrExit()
      if (smtp === undefined)
        throw new SetupError('Berth sends no email: set BERTH_SMTP_URL and BERTH_SMTP_FROM')
      const server = `${smtp.host}:${smtp.port}`
      await createSmtp(smtp).send(
        renderMail({
          to,
          subject: 'Test email from Berth',
          paragraphs: ['This is a test. The settings of the mail server are correct.'],
          notes: [],
        }),
      )
      output.result({ to, server }, `${server} accepted a test email to ${to}\n`)
    }),
}
