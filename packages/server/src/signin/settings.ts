import { listSetting, type SettingGroup, setting } from '../config/setting.ts'
import { type ClientSetting, parseClientSetting } from './oauth/clients.ts'

export interface SignInSettings {
  /** JSON file with the OpenID providers that every user may sign in with; undefined: there are none. */
  readonly signInProvidersFile: string | undefined
  /** OAuth clients besides the command line. */
  readonly oauthClients: readonly ClientSetting[]
}

const providersFile = setting('BERTH_SIGN_IN_PROVIDERS_FILE', {
  help: 'JSON file with the OpenID providers that every user may sign in with, see [sign-in](sign-in.md)',
  expected: 'the path of a file',
  parse: (path) => path,
  reloads: true,
})
const oauthClients = listSetting('BERTH_OAUTH_CLIENTS', {
  help: 'OAuth clients besides the command line, separated by commas, each as `id=redirect`; the same id again adds a redirect URI',
  expected:
    'ID=REDIRECT, where the redirect is an https address, or an http address of this machine, as browsers write it',
  parse: parseClientSetting,
})

export const signInSettings: SettingGroup<SignInSettings> = {
  settings: [providersFile, oauthClients],
  read: ({ read }) => ({ signInProvidersFile: read(providersFile), oauthClients: read(oauthClients) }),
}
