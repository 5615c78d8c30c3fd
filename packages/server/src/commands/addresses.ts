import { ADDRESS_SETTINGS } from '../config/addresses.ts'
import type { Config } from '../installation/config.ts'
import type { Installation } from '../installation/installation.ts'
import { readSetting } from '../storage/settings.ts'

/** Returns the addresses of the environment, or those of the last start of the server, or the defaults. */
export async function resolveAddresses(
  config: Config,
  { store }: Installation,
): Promise<{ baseUrl: string; authUrl: string }> {
  const { kysely } = store.db
  const scheme = config.tls === undefined ? 'http' : 'https'
  const baseUrl =
    config.baseUrl ??
    (await readSetting(kysely, ADDRESS_SETTINGS.baseUrl)) ??
    `${scheme}://${config.listen.host}:${config.listen.port}`
  const authUrl = config.authUrl ?? (await readSetting(kysely, ADDRESS_SETTINGS.authUrl)) ?? baseUrl
  return { baseUrl, authUrl }
}
