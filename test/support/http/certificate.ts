import { generateKeyPairSync, sign } from 'node:crypto'

/** Just enough DER (X.690) to write certificates. */
export function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents)
  const length =
    body.length < 0x80
      ? [body.length]
      : body.length < 0x100
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

export const sequence = (...contents: readonly Uint8Array[]) => der(0x30, ...contents)
export const set = (...contents: readonly Uint8Array[]) => der(0x31, ...contents)
export const integer = (value: number) => der(0x02, Buffer.from([value]))
export const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
export const utf8 = (text: string) => der(0x0c, Buffer.from(text))
export const octets = (bytes: Uint8Array) => der(0x04, bytes)
export const bits = (bytes: Uint8Array) => der(0x03, Buffer.from([0]), bytes)
export const utcTime = (date: Date) =>
  der(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`))

export const commonName = '550403'
export const subjectAltName = '551d11'
export const ecdsaWithSha256 = '2a8648ce3d040302'

/**
 * A self-signed certificate (RFC 5280) for names, by default `localhost`, and 127.0.0.1 on a fresh P-256 key, valid for a day. Both are
 * PEM texts.
 */
export function selfSignedCertificate({
  expiresInMs = 24 * 3_600_000,
  lifetimeMs = 25 * 3_600_000,
  names: hosts = ['localhost'],
}: {
  readonly expiresInMs?: number
  readonly lifetimeMs?: number
  readonly names?: readonly string[]
} = {}): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(oid(ecdsaWithSha256))
  const name = sequence(set(sequence(oid(commonName), utf8('localhost'))))
  const expiresMs = Date.now() + expiresInMs
  const validity = sequence(utcTime(new Date(expiresMs - lifetimeMs)), utcTime(new Date(expiresMs)))
  const names = sequence(
    ...hosts.map((host) => der(0x82, Buffer.from(host))),
    der(0x87, Buffer.from([127, 0, 0, 1])),
  )
  const extensions = der(0xa3, sequence(sequence(oid(subjectAltName), octets(names))))
  const version3 = der(0xa0, integer(2))
  const body = sequence(
    version3,
    integer(1),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  )
  const certificate = sequence(body, algorithm, bits(sign('sha256', body, privateKey)))
  const lines = certificate.toString('base64').replace(/.{1,64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
