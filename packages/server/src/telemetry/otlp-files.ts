import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { SetupError } from '../config/setup-errors.ts'
import type { OtlpSettings } from './tracing-settings.ts'

/** PEM texts for the connection to the collector. */
export interface OtlpFiles {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

/** Throws a SetupError that names the variable: a file that is not PEM would only fail later, at each export. */
export function readOtlpFiles({
  caFile,
  certFile,
  keyFile,
}: Pick<OtlpSettings, 'caFile' | 'certFile' | 'keyFile'>): OtlpFiles {
  const certificate = (pem: string) => new X509Certificate(pem)
  return {
    ca: read('OTEL_EXPORTER_OTLP_CERTIFICATE', caFile, certificate),
    cert: read('OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE', certFile, certificate),
    key: read('OTEL_EXPORTER_OTLP_CLIENT_KEY', keyFile, createPrivateKey),
  }
}

function read(
  variable: string,
  file: string | undefined,
  parse: (pem: string) => unknown,
): string | undefined {
  if (file === undefined) return undefined
  let pem: string
  try {
    pem = readFileSync(file, 'utf8')
  } catch (error) {
    throw new SetupError(`${variable} cannot be read: ${(error as Error).message}`)
  }
  try {
    parse(pem)
  } catch (error) {
    throw new SetupError(`${variable}: ${file} is not a PEM file: ${(error as Error).message}`)
  }
  return pem
}
