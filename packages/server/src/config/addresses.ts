import { type SettingGroup, setting } from './setting.ts'
import { originExpected, parseHost, parseOrigin } from './setting-values.ts'

/** The addresses of an installation. No header of a request changes them. */
export interface Addresses {
  readonly baseUrl: string
  readonly authUrl: string
  readonly registryHost: string
  readonly errorDomain: string
}

/** Each is undefined if it is derived from another one. URLs have no trailing slash. */
export interface AddressSettings {
  readonly baseUrl: string | undefined
  readonly authUrl: string | undefined
  readonly registryHost: string | undefined
  readonly errorDomain: string | undefined
}

const baseUrl = setting('BERTH_BASE_URL', {
  help: 'address of the API as clients see it, and the audience of its tokens',
  default: '`http://` or `https://` and the listen address',
  expected: originExpected,
  parse: parseOrigin,
})
const authUrl = setting('BERTH_AUTH_URL', {
  help: 'address of the token service, and the issuer of its tokens',
  default: 'the base URL',
  expected: originExpected,
  parse: parseOrigin,
})
const registryHost = setting('BERTH_REGISTRY_HOST', {
  help: 'host name of the registry, the second audience that tokens may have',
  default: "the base URL's host",
  expected: 'a host name, with a port if needed',
  parse: parseHost,
})
const errorDomain = setting('BERTH_ERROR_DOMAIN', {
  help: '`domain` in the ErrorInfo of errors',
  default: "the base URL's host name",
  expected: 'a domain name',
  parse: parseHost,
})

export const addressSettings: SettingGroup<AddressSettings> = {
  settings: [baseUrl, authUrl, registryHost, errorDomain],
  read: ({ read }) => ({
    baseUrl: read(baseUrl),
    authUrl: read(authUrl),
    registryHost: read(registryHost),
    errorDomain: read(errorDomain),
  }),
}

/** `boundUrl`: the address on which the port listens, the default of the external addresses. */
export function addressesOf(settings: AddressSettings, boundUrl: string): Addresses {
  const baseUrl = settings.baseUrl ?? boundUrl
  const { host, hostname } = new URL(baseUrl)
  return {
    baseUrl,
    authUrl: settings.authUrl ?? baseUrl,
    registryHost: settings.registryHost ?? host,
    errorDomain: settings.errorDomain ?? hostname,
  }
}

/** The settings in which `berth admin` finds the addresses of the last start of the server. */
export const ADDRESS_SETTINGS = { baseUrl: 'base_url', authUrl: 'auth_url' } as const
