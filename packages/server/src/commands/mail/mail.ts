import type { CommandDeclaration, CommandGroup } from '@berth/cli/invocation/command-declaration.ts'
import type { View } from '@berth/cli/output/output.ts'
import { listMails, type MailSummary } from '../../mail/outbox.ts'
import { jsonOption } from '../options.ts'
import { readConfigOrExit, withExistingInstallation } from '../with-installation.ts'
import { testCommand } from './test.ts'

const view: View<MailSummary> = {
  columns: [
    { title: 'UID', kind: 'uid', value: ({ uid }) => uid },
    { title: 'KIND', kind: 'name', value: ({ kind }) => kind },
    { title: 'STATE', kind: 'name', value: ({ state }) => state },
    { title: 'ATTEMPTS', kind: 'name', value: ({ attempts }) => String(attempts) },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime }) => updateTime },
    { title: 'PROBLEM', value: ({ problem }) => problem },
  ],
  id: ({ uid }) => uid,
  empty: 'no email',
}

const listCommand: CommandDeclaration = {
  name: 'list',
  summary: 'List emails that wait, and invites that were sent or not sent',
  options: [
    { flags: '--state <state>', summary: 'only emails in this state', choices: ['queued', 'sent', 'failed'] },
    jsonOption,
  ],
  notes:
    'The newest 1000. The uid of an invite is that of its email. Recipients are encrypted and not shown.',
  examples: ['berth admin mail list', 'berth admin mail list --state failed --json'],
  run: ({ optionIfSet, output }) =>
    withExistingInstallation(readConfigOrExit(), async ({ store }) => {
      const mails = await listMails(store.db.kysely, optionIfSet('state'))
      await output.report({ mails }, mails, view)
    }),
}

/** `berth admin mail`: the email that the server sends. */
export const mailGroup: CommandGroup = {
  name: 'mail',
  summary: 'Test the mail server, and list email',
  commands: [testCommand, listCommand],
}
