import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  bits,
  commonName,
  der,
  ecdsaWithSha256,
  integer,
  octets,
  oid,
  sequence,
  set,
  subjectAltName,
  utcTime,
  utf8,
} from '../http/certificate.ts'

/** Certificates of signers, with their authorities (RFC 5280), as Fulcio and trust stores of Notation have them. */

export interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export interface Issued extends KeyPair {
  readonly pem: string
  readonly raw: Buffer
  /** Encoded. */
  readonly subject: Buffer
}

export const ecKey = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' })
export const publicPem = ({ publicKey }: Pick<KeyPair, 'publicKey'>): string =>
  publicKey.export({ type: 'spki', format: 'pem' }).toString()

const attributes: Readonly<Record<string, string>> = {
  CN: commonName,
  C: '550406',
  ST: '550408',
  O: '55040a',
  OU: '55040b',
}

const HOUR_MS = 3_600_000

export interface CertificateOptions {
  readonly subject?: Readonly<Record<string, string>>
  readonly keys?: KeyPair
  /** Undefined: signs itself. */
  readonly issuer?: Issued
  readonly ca?: boolean
  readonly pathLength?: number
  readonly fromMs?: number
  readonly toMs?: number
  readonly uri?: string
  readonly email?: string
  /** As Fulcio names the issuer of the identity (1.3.6.1.4.1.57264.1.8). */
  readonly oidcIssuer?: string
  /** Extended key usages, as hex digits. */
  readonly purposes?: readonly string[]
  readonly usage?: boolean
}

export const CODE_SIGNING = '2b06010505070303'
export const SERVER_AUTH = '2b06010505070301'

let serial = 1

export function issueCertificate(options: CertificateOptions = {}): Issued {
  const {
    keys = ecKey(),
    issuer,
    ca = false,
    fromMs = Date.now() - HOUR_MS,
    toMs = Date.now() + HOUR_MS,
  } = options
  const subject = nameOf(options.subject ?? { CN: `test ${serial}` })
  const algorithm = sequence(oid(ecdsaWithSha256))
  serial = (serial % 100) + 1
  const body = sequence(
    der(0xa0, integer(2)),
    integer(serial),
    algorithm,
    issuer?.subject ?? subject,
    sequence(utcTime(new Date(fromMs)), utcTime(new Date(toMs))),
    subject,
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensionsOf(options, ca))),
  )
  const raw = sequence(body, algorithm, bits(sign('sha256', body, (issuer ?? keys).privateKey)))
  return { ...keys, raw, subject, pem: pemOf(raw) }
}

function pemOf(raw: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${raw.toString('base64').replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`
}

function nameOf(subject: Readonly<Record<string, string>>): Buffer {
  return sequence(
    ...Object.entries(subject).map(([name, value]) =>
      set(sequence(oid(attributes[name] ?? ''), utf8(value))),
    ),
  )
}

const isTrue = der(0x01, Buffer.from([0xff]))

function extensionsOf(options: CertificateOptions, ca: boolean): Buffer[] {
  const { pathLength, uri, email, oidcIssuer, purposes, usage = true } = options
  const names = [
    ...(uri === undefined ? [] : [der(0x86, Buffer.from(uri))]),
    ...(email === undefined ? [] : [der(0x81, Buffer.from(email))]),
  ]
  const extension = (id: string, value: Buffer, critical = false) =>
    sequence(oid(id), ...(critical ? [isTrue] : []), octets(value))
  return [
    extension(
      '551d13',
      sequence(...(ca ? [isTrue, ...(pathLength === undefined ? [] : [integer(pathLength)])] : [])),
      true,
    ),
    // digitalSignature, or keyCertSign.
    ...(usage ? [extension('551d0f', der(0x03, Buffer.from(ca ? [2, 0x04] : [7, 0x80])), true)] : []),
    ...(purposes === undefined ? [] : [extension('551d25', sequence(...purposes.map(oid)))]),
    ...(names.length === 0 ? [] : [extension(subjectAltName, sequence(...names))]),
    ...(oidcIssuer === undefined ? [] : [extension('2b0601040183bf300108', utf8(oidcIssuer))]),
  ]
}
