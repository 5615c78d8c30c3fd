import type { CommandGroup } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import type { View } from '@berth/cli/output/output.ts'
import { listSigningKeys, rotateSigningKeys, type SigningKeySummary } from '../operator/signing-keys.ts'
import { jsonOption } from './options.ts'
import { readConfigOrExit, withExistingInstallation } from './with-installation.ts'

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

const printKeys = ({ output }: Invocation, keys: readonly SigningKeySummary[]) =>
  output.report({ keys }, keys, view)

/** `berth admin keys`: the keys that sign tokens. */
export const keysGroup: CommandGroup = {
  name: 'keys',
  summary: 'Manage the keys that sign tokens',
  commands: [
    {
      name: 'list',
      summary: 'List the published signing keys',
      options: [jsonOption],
      examples: ['berth admin keys list --json'],
      run: (invocation) =>
        withExistingInstallation(readConfigOrExit(), async (installation) =>
          printKeys(invocation, await listSigningKeys(installation)),
        ),
    },
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
      run: (invocation) =>
        withExistingInstallation(readConfigOrExit(), async (installation) =>
          printKeys(invocation, await rotateSigningKeys(installation, { now: invocation.flag('now') })),
        ),
    },
  ],
}
