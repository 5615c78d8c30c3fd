import type { Command } from 'commander'
import { listSigningKeys, rotateSigningKeys, type SigningKeySummary } from '../signing-keys.ts'
import { printResult, renderTable } from './output.ts'
import { readConfigOrExit, withExistingInstallation } from './with-installation.ts'

/** `berth admin keys`: the keys that sign tokens. */
export function addKeyCommands(admin: Command): void {
  const keys = admin.command('keys').description('the keys that sign tokens')

  keys
    .command('list')
    .description('print the keys that are published, and which of them signs')
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  berth admin keys list --json\n')
    .action(({ json }: { json: boolean }) =>
      withExistingInstallation(readConfigOrExit(), async (installation) =>
        printKeys(await listSigningKeys(installation), json),
      ),
    )

  keys
    .command('rotate')
    .description('publish the next key; it signs in an hour, and tokens of the one before stay good')
    .option(
      '--now',
      'withdraw all keys and sign with a new one at once: every access token given so far stops working',
      false,
    )
    .option('--json', 'print JSON', false)
    .addHelpText('after', rotateHelp)
    .action(({ now, json }: { now: boolean; json: boolean }) =>
      withExistingInstallation(readConfigOrExit(), async (installation) =>
        printKeys(await rotateSigningKeys(installation, { now }), json),
      ),
    )
}

const rotateHelp = `
Examples:
  berth admin keys rotate
  berth admin keys rotate --now      somebody else may have the key
`

function printKeys(keys: readonly SigningKeySummary[], json: boolean): void {
  const text = renderTable(
    keys,
    [
      { title: 'KEY', kind: 'name', value: ({ kid }) => kid },
      { title: 'STATE', kind: 'name', value: ({ state }) => state },
      { title: 'SIGNS FROM', kind: 'time', value: ({ signsFromTime }) => signsFromTime },
      { title: 'PUBLISHED UNTIL', kind: 'time', value: ({ expireTime }) => expireTime },
    ],
    'there is no key yet',
  )
  printResult(json, { keys }, text)
}
