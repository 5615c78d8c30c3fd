import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { limits } from '../../config/limits.ts'
import { SetupError } from '../../config/setup-errors.ts'
import type { TlsSettings } from '../settings.ts'

/** The certificate and key of the port, as PEM texts that belong together. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
  /** When the first certificate of the file, which is that of the server, expires. */
  readonly expiresMs: number
  readonly validFromMs: number
}

const CERT = 'BERTH_TLS_CERT_FILE'
const KEY = 'BERTH_TLS_KEY_FILE'

/** Throws a SetupError that names the setting. */
export function readTlsFiles(settings: TlsSettings): TlsFiles {
  const { certFile, keyFile } = settings
  return parseTlsFiles(settings, { cert: read(CERT, certFile), key: read(KEY, keyFile) })
}

/** Reads the content of the files. Throws a SetupError that names the setting. */
export function parseTlsFiles(
  { certFile, keyFile }: TlsSettings,
  { cert, key }: Pick<TlsFiles, 'cert' | 'key'>,
): TlsFiles {
  const certificate = parsePem(CERT, certFile, 'a PEM certificate', () => new X509Certificate(cert))
  const privateKey = parsePem(KEY, keyFile, 'a PEM private key without a passphrase', () =>
    createPrivateKey(key),
  )
  if (!certificate.checkPrivateKey(privateKey))
    throw new SetupError(`${KEY}: ${keyFile} is not the key of the certificate in ${certFile} (${CERT})`)
  return {
    cert,
    key,
    validFromMs: certificate.validFromDate.getTime(),
    expiresMs: certificate.validToDate.getTime(),
  }
}

/** What an operator should know about the validity of a certificate; undefined while there is time. */
export function expiryWarning(
  { validFromMs: beginsMs, expiresMs }: TlsFiles,
  nowMs: number,
): string | undefined {
  const until = new Date(expiresMs).toISOString()
  if (nowMs > expiresMs) return `the certificate in ${CERT} expired at ${until}`
  if (nowMs < beginsMs)
    return `the certificate in ${CERT} is valid from ${new Date(beginsMs).toISOString()} only`
  // Certificates that live for days or hours are renewed later.
  const aheadMs = Math.min(limits.tlsExpiryWarningMs, (expiresMs - beginsMs) / LIFETIME_PARTS)
  return expiresMs - nowMs < aheadMs ? `the certificate in ${CERT} expires at ${until}; renew it` : undefined
}

const LIFETIME_PARTS = 5

function read(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new SetupError(`${setting} cannot be read: ${(error as Error).message}`)
  }
}

function parsePem<T>(setting: string, file: string, expected: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new SetupError(`${setting}: ${file} is not ${expected}: ${(error as Error).message}`)
  }
}
