import { readFileSync } from 'node:fs'
import type { IdentityInput } from '@berth/client/berth.ts'
import type { OptionDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { loadYaml } from '../../output/yaml.ts'

/** The options that select the tokens that may assume an identity. */

export const matchingOptions: readonly OptionDeclaration[] = [
  { flags: '--identity-issuer <url>', summary: 'issuer of the tokens', conflicts: ['identityIssuerPattern'] },
  { flags: '--identity-issuer-pattern <re2>', summary: 'pattern for the whole issuer' },
  { flags: '--subject <sub>', summary: 'sub claim', conflicts: ['subjectPattern'] },
  { flags: '--subject-pattern <re2>', summary: 'pattern for the whole sub claim' },
  { flags: '--claim-audience <aud>', summary: 'aud claim (default: the token service)' },
  { flags: '--audience-pattern <re2>', summary: 'pattern for the whole aud claim' },
  {
    flags: '--claim <name:value>',
    summary: 'required claim value (repeatable)',
    repeatable: true,
  },
  {
    flags: '--claim-pattern <name:re2>',
    summary: 'pattern for a whole claim value (repeatable)',
    repeatable: true,
  },
  {
    flags: '--issuer-keys <file>',
    summary: 'JWKS file with the signing keys, used instead of fetching them from the issuer',
  },
  { flags: '--expiration <yyyy-mm-dd>', summary: 'date when the issuer keys expire (default: in 30 days)' },
  { flags: '-f, --file <file>', summary: 'JSON or YAML file with the identity in the API format' },
]

/** Parses `name:value` pairs. */
function parsePairs(option: string, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    values.map((value) => {
      const mark = value.indexOf(':')
      if (mark < 1) throw new UsageError(`${option}: ${JSON.stringify(value)} must be NAME:VALUE`)
      return [value.slice(0, mark), value.slice(mark + 1)]
    }),
  )
}

function readFile(option: string, file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(`${option}: ${(error as Error).message}`)
  }
}

const DAY_MS = 24 * 60 * 60 * 1000
const STATIC_DAYS = 30

/** Returns the relationship that the options describe; undefined if none is given. */
export function readRelationship(invocation: Invocation): Partial<IdentityInput> | undefined {
  const { optionIfSet, option, optionValues } = invocation
  const file = option('file')
  if (file !== '') return loadYaml().parse(readFile('--file', file)) as Partial<IdentityInput>
  const issuer = optionIfSet('identityIssuer')
  const subject = optionIfSet('subject')
  const keys = option('issuerKeys')
  if (keys !== '') {
    if (issuer === undefined || subject === undefined)
      throw new UsageError('--issuer-keys needs --identity-issuer and --subject')
    const until = option('expiration')
    const time = until === '' ? Date.now() + STATIC_DAYS * DAY_MS : Date.parse(`${until}T00:00:00Z`)
    if (Number.isNaN(time)) throw new UsageError('--expiration must be a date such as 2027-01-31')
    const audience = option('claimAudience')
    return {
      staticKeys: {
        issuer,
        subject,
        issuerKeys: readFile('--issuer-keys', keys),
        expirationTime: new Date(time).toISOString(),
        ...(audience === '' ? {} : { audiences: [audience] }),
      },
    }
  }
  const claims = parsePairs('--claim', optionValues('claim'))
  const claimPatterns = parsePairs('--claim-pattern', optionValues('claimPattern'))
  const parts = {
    issuer,
    issuerPattern: optionIfSet('identityIssuerPattern'),
    subject,
    subjectPattern: optionIfSet('subjectPattern'),
    audience: optionIfSet('claimAudience'),
    audiencePattern: optionIfSet('audiencePattern'),
    ...(Object.keys(claims).length === 0 ? {} : { claims }),
    ...(Object.keys(claimPatterns).length === 0 ? {} : { claimPatterns }),
  }
  return Object.values(parts).every((part) => part === undefined) ? undefined : { claimMatch: parts }
}
