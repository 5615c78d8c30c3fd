import {
  type CustomOverlay_Accounts as Accounts,
  type CustomOverlay_Certificates as Certificates,
  type CustomOverlay,
  CustomOverlaySchema,
  type CustomOverlay_ImageContents as ImageContents,
} from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { toBinary } from '@bufbuild/protobuf'
import type { FieldViolation } from '../../api/errors.ts'
import { isCertificateBundle, isRsaPublicKey } from '../../api/pem.ts'
import { limits } from '../../config/limits.ts'

/** What a custom overlay may change in an image. Every value ends up in a file of an image, so it must be valid in that file. */

type Violations = (FieldViolation | undefined)[]

const FIELD = 'customOverlay'

/** Returns every violation in an overlay; empty for a valid one. */
export function checkCustomOverlay(overlay: CustomOverlay): FieldViolation[] {
  const { contents, environment, annotations, accounts, certificates } = overlay
  if (toBinary(CustomOverlaySchema, overlay).length > limits.overlayBytesMax)
    return [{ field: FIELD, description: `must have at most ${limits.overlayBytesMax} bytes` }]
  const violations = [
    checkMap('environment', environment, environmentNamePattern, ['CHAINGUARD_']),
    checkMap('annotations', annotations, annotationKeyPattern, ['dev.chainguard.', 'org.opencontainers.']),
    ...(contents === undefined ? [] : checkContents(contents)),
    ...(accounts === undefined ? [] : checkAccounts(accounts)),
    ...(certificates === undefined ? [] : checkCertificates(certificates)),
  ]
  return violations.filter((violation) => violation !== undefined)
}

const environmentNamePattern = /^[A-Za-z_][A-Za-z0-9_]*$/
const annotationKeyPattern = /^[^\s\p{Cc}]+$/u

/** Environment variables and annotations; a violation names the map, since a key may be any text. */
function checkMap(
  name: string,
  map: Readonly<Record<string, string>>,
  keys: RegExp,
  reserved: readonly string[],
): FieldViolation | undefined {
  const field = `${FIELD}.${name}`
  const entries = Object.entries(map)
  const violation = (description: string) => ({ field, description })
  if (entries.length > limits.overlayEntriesMax) return violation(tooMany)
  for (const [key, value] of entries) {
    const prefix = reserved.find((start) => key.startsWith(start))
    if (prefix !== undefined) return violation(`names that start with ${prefix} are reserved`)
    if (!keys.test(key))
      return violation(`${JSON.stringify(key)} is not a name, which must match "${keys.source}"`)
    if (value.includes('\0')) return violation(`the value of ${key} must not contain a zero byte`)
  }
  return undefined
}

const tooMany = `must have at most ${limits.overlayEntriesMax} entries`

/** Returns the violations of every element, or the one violation for too many elements. */
function checkEach<T>(
  name: string,
  elements: readonly T[],
  check: (element: T, field: string) => Violations,
): Violations {
  const field = `${FIELD}.${name}`
  if (elements.length > limits.overlayEntriesMax) return [{ field, description: tooMany }]
  return elements.flatMap((element, at) => check(element, `${field}[${at}]`))
}

/** Returns the violations of repeated names. */
function checkDistinct(name: string, member: string, names: readonly string[]): Violations {
  if (names.length > limits.overlayEntriesMax) return []
  return names.map((one, at) =>
    names.indexOf(one) < at
      ? { field: `${FIELD}.${name}[${at}].${member}`, description: `${JSON.stringify(one)} is repeated` }
      : undefined,
  )
}

function checkText(pattern: RegExp, what: string) {
  return (text: string, field: string): FieldViolation | undefined =>
    pattern.test(text) ? undefined : { field, description: `must be ${what}` }
}

const checkPackage = checkText(
  /^[a-zA-Z0-9][a-zA-Z0-9+._-]*(?:(?:[<>~]?=|[<>~])[0-9][a-zA-Z0-9+._~-]*)?$/,
  'the name of an apk package, optionally with a version as in curl=8.5.0-r0, curl~8.5 or curl>=8',
)

const checkFileName = checkText(
  /^[A-Za-z0-9_][A-Za-z0-9._@+-]{0,254}$/,
  'a file name: letters, digits and ._@+-, at most 255, starting with a letter, a digit or _',
)

function checkContents({ packages, runtimeRepositories, runtimeKeyring }: ImageContents): Violations {
  return [
    ...checkEach('contents.packages', packages, (name, field) => [checkPackage(name, field)]),
    ...checkEach('contents.runtimeRepositories', runtimeRepositories, (url, field) => [
      checkRepositoryUrl(url, field),
    ]),
    ...checkEach('contents.runtimeKeyring', runtimeKeyring, ({ name, content }, field) => [
      checkFileName(name, `${field}.name`),
      isRsaPublicKey(content)
        ? undefined
        : { field: `${field}.content`, description: 'must be one RSA public key as PEM text' },
    ]),
    ...checkDistinct(
      'contents.runtimeKeyring',
      'name',
      runtimeKeyring.map(({ name }) => name),
    ),
  ]
}

/** The URL becomes a line of /etc/apk/repositories, which everyone with the image can read. */
function checkRepositoryUrl(text: string, field: string): FieldViolation | undefined {
  const url = /^https?:\/\/[^\s\p{Cc}#]+$/iu.test(text) ? URL.parse(text) : null
  if (url === null) return { field, description: 'must be an absolute http or https URL without a fragment' }
  return url.username === '' && url.password === ''
    ? undefined
    : { field, description: 'must not contain credentials' }
}

const NUMERIC_ID_MAX = 2 ** 31 - 1
/** POSIX's portable names, up to the length that Linux allows; a name that starts with a digit could be read as a number. */
const accountName = '[a-zA-Z_][a-zA-Z0-9_.-]{0,31}'
const accountNamePattern = new RegExp(`^${accountName}$`)
const runAsPattern = new RegExp(`^(?:${accountName}|[0-9]{1,10})(?::(?:${accountName}|[0-9]{1,10}))?$`)

const checkAccountName = checkText(
  accountNamePattern,
  'a name of letters, digits and _.-, at most 32, starting with a letter or _',
)
/** Colons separate the fields of /etc/passwd. */
const checkPath = checkText(/^(?:\/[^:\p{Cc}]*)?$/u, 'an absolute path without colons')

function checkId(id: number, field: string): FieldViolation | undefined {
  return id >= 0 ? undefined : { field, description: `must be between 0 and ${NUMERIC_ID_MAX}` }
}

function checkRunAs(runAs: string): FieldViolation | undefined {
  const fits = runAsPattern.test(runAs) && runAs.split(':').every((id) => !(Number(id) > NUMERIC_ID_MAX))
  if (runAs === '' || fits) return undefined
  return { field: `${FIELD}.accounts.runAs`, description: 'must be a user, by name or id, or user:group' }
}

function checkAccounts({ runAs, users, groups }: Accounts): Violations {
  return [
    checkRunAs(runAs),
    ...checkEach('accounts.users', users, (user, field) => [
      checkAccountName(user.username, `${field}.username`),
      checkId(user.uid, `${field}.uid`),
      checkId(user.gid, `${field}.gid`),
      user.groupName === '' ? undefined : checkAccountName(user.groupName, `${field}.groupName`),
      checkPath(user.shell, `${field}.shell`),
      checkPath(user.homeDir, `${field}.homeDir`),
    ]),
    ...checkDistinct(
      'accounts.users',
      'username',
      users.map(({ username }) => username),
    ),
    ...checkEach('accounts.groups', groups, (group, field) => [
      checkAccountName(group.groupname, `${field}.groupname`),
      checkId(group.gid, `${field}.gid`),
      ...(group.members.length > limits.overlayEntriesMax
        ? [{ field: `${field}.members`, description: tooMany }]
        : group.members.map((member, at) => checkAccountName(member, `${field}.members[${at}]`))),
    ]),
    ...checkDistinct(
      'accounts.groups',
      'groupname',
      groups.map(({ groupname }) => groupname),
    ),
  ]
}

function checkCertificates({ additional, providers }: Certificates): Violations {
  const { overlayCertificatesBytesMax: bytesMax } = limits
  if (additional.reduce((bytes, { content }) => bytes + content.length, 0) > bytesMax)
    return [
      {
        field: `${FIELD}.certificates.additional`,
        description: `must have at most ${bytesMax} bytes together`,
      },
    ]
  return [
    ...checkEach('certificates.additional', additional, ({ name, content }, field) => [
      checkFileName(name, `${field}.name`),
      isCertificateBundle(content)
        ? undefined
        : { field: `${field}.content`, description: 'must be certificates as PEM text, and nothing else' },
    ]),
    ...checkDistinct(
      'certificates.additional',
      'name',
      additional.map(({ name }) => name),
    ),
    ...checkEach('certificates.providers', providers, (name, field) => [checkPackage(name, field)]),
  ]
}
