import ipaddr from 'ipaddr.js'
import { listSetting, type SettingGroup, setting } from '../config/setting.ts'
import { daysExpected, parseDays } from '../config/setting-values.ts'
import { type SigningAlgorithm, signingAlgorithms } from './keys/signing-key-rows.ts'

export interface TokenSettings {
  /** CIDRs whose addresses issuers may have. */
  readonly issuerPrivateNetworks: readonly string[]
  /** Issuers that identities with an issuer pattern may match. */
  readonly patternIssuers: readonly string[]
  /** How long a key signs tokens before the next one does. */
  readonly signingKeyRotationMs: number
  /** Of new keys; undefined: that of the newest key. */
  readonly signingAlgorithm: SigningAlgorithm | undefined
}

const privateNetworks = listSetting('BERTH_ISSUER_PRIVATE_NETWORKS', {
  help: 'CIDRs, separated by commas, in which token issuers, the token services of clouds and advisory feeds may be, over plain http too',
  expected: 'a CIDR such as 10.0.0.0/8',
  parse: (item) => (ipaddr.isValidCIDR(item) ? item : undefined),
})
const patternIssuers = listSetting('BERTH_PATTERN_ISSUERS', {
  help: 'token issuers, separated by commas, that identities with an issuer pattern may match',
  expected: 'the address of a token issuer',
  parse: (item) => (URL.canParse(item) ? item : undefined),
})
const DEFAULT_ROTATION = '30d'
const rotation = setting('BERTH_SIGNING_KEY_ROTATION', {
  help: 'how many days a key signs tokens before the next one does, such as `7d`, see [tokens](tokens.md#signing-keys)',
  default: `\`${DEFAULT_ROTATION}\``,
  expected: daysExpected,
  parse: parseDays,
  fallback: parseDays(DEFAULT_ROTATION) as number,
})

const algorithm = setting('BERTH_SIGNING_ALGORITHM', {
  help: 'algorithm of the keys that sign tokens, `ES256` or `RS256`, see [tokens](tokens.md#signing-keys)',
  default: 'that of the newest key, at first `ES256`',
  expected: signingAlgorithms.join(' or '),
  parse: (value) => signingAlgorithms.find((one) => one === value),
  fallback: undefined,
})

export const tokenSettings: SettingGroup<TokenSettings> = {
  settings: [privateNetworks, patternIssuers, rotation, algorithm],
  read: ({ read }) => ({
    issuerPrivateNetworks: read(privateNetworks),
    patternIssuers: read(patternIssuers),
    signingKeyRotationMs: read(rotation),
    signingAlgorithm: read(algorithm),
  }),
}
