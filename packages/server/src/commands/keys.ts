import type { CommandGroup } from '@berth/cli/invocation/command-declaration.ts'
import type { View } from '@berth/cli/output/output.ts'
import { listSigningKeys, rotateSigningKeys, type SigningKeySummary } from '../operator/signing-keys.ts'
import { jsonOption } from './options.ts'
import { installationList, readConfigOrExit, withExistingInstallation } from './with-installation.ts'

const view: View<SigningKeySummary> = {
  columns: [
    { title: 'KEY', kind: 'name', value: ({ kid }) => kid },
    { title: 'ALGORITHM', kind: 'name', value: ({ algorithm }) => algorithm },
    { title: 'STATE', kind: 'name', value: ({ state }) => state },
    { title: 'SIGNS FROM', kind: 'time', value: ({ signsFromTime }) => signsFromTime },
    { title: 'PUBLISHED UNTIL', kind: 'time', value: ({ expireTime }) => expireTime },
  ],
  id: ({ kid }) => kid,
  empty: 'no signing keys',
}

/** `berth admin keys`: the keys that sign tokens. */
export const keysGroup: CommandGroup = {
  name: 'keys',
  summary: 'Manage the keys that sign tokens',
  commands: [
    installationList(
      {
        summary: 'List the published signing keys',
        options: [jsonOption],
        examples: ['berth admin keys list --json'],
        view: () => view,
      },
      listSigningKeys,
    ),
    {
      name: 'rotate',
      summary: 'Publish a new signing key that signs after one hour; existing tokens stay valid',
      options: [
        {
          flags: '--now',
          summary: 'withdraw all keys and sign with a new one immediately; all access tokens become invalid',
        },
        jsonOption,
      ],
      notes: 'Use --now if a key may be compromised.',
      examples: ['berth admin keys rotate', 'berth admin keys rotate --now'],
      run: ({ flag, output }) =>
        withExistingInstallation(readConfigOrExit(), async (installation) =>
          output.list(await rotateSigningKeys(installation, { now: flag('now') }), view),
        ),
    },
  ],
}
