import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { writeZip } from '@berth/advisory-formats/archives/write-zip.ts'
import { goProgram } from '../deploy/go-tools.ts'
import type { Json } from './image-findings.ts'

/** osv-scanner 1.9: `BERTH_TEST_OSV_SCANNER`, or `goProgram` finds or builds it. */
export const osvScannerProgram = () =>
  process.env['BERTH_TEST_OSV_SCANNER'] ??
  goProgram('osv-scanner', 'github.com/google/osv-scanner/cmd/osv-scanner@v1.9.2')

/** A vulnerability of a package. */
export interface ScannerFinding {
  readonly name: string
  readonly version: string
  readonly ids: readonly string[]
}

const SCAN_MS_MAX = 60_000

/** Of osv-scanner: its folder with records. */
const RECORDS_VARIABLE = 'OSV_SCANNER_LOCAL_DB_CACHE_DIRECTORY'

export interface ScanOptions {
  /** `--sbom FILE`, or `--lockfile FORMAT:FILE`. */
  readonly input: readonly string[]
  /** A folder of `writeRecords`, which is read without a network, or the environment in which a server is asked. */
  readonly from: { readonly records: string } | { readonly env: NodeJS.ProcessEnv }
}

/** Returns undefined if the records lack the ecosystem of a package. */
export async function scanWith(
  program: string,
  { input, from }: ScanOptions,
): Promise<ScannerFinding[] | undefined> {
  const isOffline = 'records' in from
  const options = isOffline ? ['--experimental-offline'] : []
  // The server may be in this process, so it must not wait.
  const child = spawn(program, ['scan', ...options, '--format', 'json', '--verbosity', 'error', ...input], {
    env: { PATH: process.env['PATH'], ...(isOffline ? { [RECORDS_VARIABLE]: from.records } : from.env) },
    timeout: SCAN_MS_MAX,
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (isOffline && code === 127 && /could not find local databases/.test(stderr)) return undefined
  // 1: vulnerabilities were found; 128: there are no packages.
  assert.ok([0, 1, 128].includes(code), `exit code ${code}: ${stderr}`)
  const { results } = (code === 128 ? {} : JSON.parse(stdout)) as { results?: Json[] }
  return (results ?? []).flatMap(({ packages }) =>
    packages.flatMap(({ package: its, vulnerabilities }: Json) =>
      vulnerabilities.map(({ id, aliases }: Json) => ({
        name: its.name,
        version: its.version,
        ids: [id, ...(aliases ?? [])],
      })),
    ),
  )
}

const baseOf = (ecosystem: string) => ecosystem.split(':')[0]

/** Writes records as osv-scanner reads them without a network: an archive for each ecosystem, with all its releases. */
export async function writeRecords(
  folder: string,
  records: readonly Json[],
  ecosystems: readonly string[],
): Promise<void> {
  for (const ecosystem of ecosystems) {
    const entries = records
      .filter(({ affected = [] }) =>
        affected.some(({ package: its }: Json) => baseOf(its?.ecosystem ?? '') === baseOf(ecosystem)),
      )
      .map((record) => ({
        name: `${record.id}.json`,
        content: Buffer.from(JSON.stringify(record)),
        modifiedMs: 0,
      }))
    const directory = join(folder, 'osv-scanner', ecosystem)
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'all.zip'), await buffer(Readable.from(writeZip(entries))))
  }
}
