import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { limits } from '../../../config/limits.ts'
import { parseOrigin } from '../../../config/setting-values.ts'
import { SetupError, UsageError } from '../../../config/setup-errors.ts'
import type { Config } from '../../../installation/config.ts'
import type { Log } from '../../../runtime/log.ts'
import { type Destination, openDestination, type S3Options } from '../../backup/destination.ts'

/** Options that the commands for backups share. */

export interface StoreFlags {
  readonly s3Endpoint?: string
  readonly s3Region?: string
  readonly s3PathStyle?: boolean
}

/** Where backups are stored, for all commands. */
export function withStoreFlags(command: Command): Command {
  return command
    .option('--s3-endpoint <url>', "address of the S3 server (default BERTH_BACKUP_S3_ENDPOINT, or Amazon's)")
    .option('--s3-region <region>', 'region of the bucket (default BERTH_BACKUP_S3_REGION, or AWS_REGION)')
    .option('--s3-path-style', 'name the bucket in the path of the URL (default true with an endpoint)')
}

export interface PassphraseFlags {
  readonly passphraseFile?: string
}

export function withPassphraseFlag(command: Command): Command {
  return command.option(
    '--passphrase-file <file>',
    'file with the passphrase of the master key (default BERTH_BACKUP_PASSPHRASE, or a prompt)',
  )
}

/** The sentences about both, for help texts. */
export const storeHelp = `
DESTINATION is a directory, or s3://BUCKET/PREFIX with the credentials that the AWS tools use (AWS_ACCESS_KEY_ID, AWS_PROFILE, ...).
`

/** Works with the opened destination, and closes it. */
export async function withDestination<T>(
  name: string,
  flags: StoreFlags,
  { config, log, mustExist }: { readonly config: Config; readonly log: Log; readonly mustExist: boolean },
  work: (destination: Destination) => Promise<T>,
): Promise<T> {
  const destination = await openDestination(name, { s3: readS3Options(flags), config, log, mustExist })
  try {
    return await work(destination)
  } finally {
    destination.files.close()
  }
}

function readS3Options({ s3Endpoint, s3Region, s3PathStyle }: StoreFlags): S3Options {
  const { env } = process
  const address = s3Endpoint ?? (env['BERTH_BACKUP_S3_ENDPOINT'] || undefined)
  const endpoint = address === undefined ? undefined : parseOrigin(address)
  if (address !== undefined && endpoint === undefined)
    throw new UsageError(
      `--s3-endpoint: ${JSON.stringify(address)} must be an http or https address without path`,
    )
  const style = env['BERTH_BACKUP_S3_PATH_STYLE'] || undefined
  if (style !== undefined && style !== 'true' && style !== 'false')
    throw new UsageError('BERTH_BACKUP_S3_PATH_STYLE must be true or false')
  return {
    endpoint,
    region: s3Region ?? (env['BERTH_BACKUP_S3_REGION'] || undefined),
    pathStyle: s3PathStyle ?? (style === undefined ? undefined : style === 'true'),
  }
}

/** The passphrase of the file, the environment or a prompt. `isNew`: it has to be long enough, and is asked for twice. */
export async function readPassphrase(
  { passphraseFile }: PassphraseFlags,
  { isNew, hint }: { readonly isNew: boolean; readonly hint: string },
): Promise<string> {
  const configured =
    passphraseFile === undefined
      ? process.env['BERTH_BACKUP_PASSPHRASE'] || undefined
      : firstLine(passphraseFile)
  const passphrase = configured ?? (await promptForPassphrase(isNew, hint))
  if (isNew && passphrase.length < limits.passwordCharsMin)
    throw new UsageError(`the passphrase must have at least ${limits.passwordCharsMin} characters`)
  return passphrase
}

function firstLine(file: string): string {
  try {
    const [line = ''] = readFileSync(file, 'utf8').split(/\r?\n/)
    if (line === '') throw new Error('its first line is empty')
    return line
  } catch (error) {
    throw new UsageError(`--passphrase-file: ${file} cannot be read: ${(error as Error).message}`)
  }
}

async function promptForPassphrase(isNew: boolean, otherwise: string): Promise<string> {
  if (process.stdin.isTTY !== true)
    throw new UsageError(
      `the passphrase of the master key is missing: set --passphrase-file or BERTH_BACKUP_PASSPHRASE${otherwise}`,
    )
  const { password } = await import('@inquirer/prompts')
  // Standard output is for the result.
  const output = { output: process.stderr }
  const first = await password({ message: 'Passphrase of the master key', mask: '*' }, output)
  if (isNew && (await password({ message: 'The same passphrase again', mask: '*' }, output)) !== first)
    throw new SetupError('the two passphrases are not the same')
  return first
}
