import { readFileSync } from 'node:fs'
import type { OptionDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import { limits } from '../../config/limits.ts'
import { parseOrigin } from '../../config/setting-values.ts'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import type { Config } from '../../installation/config.ts'
import { type Destination, openDestination, type S3Options } from '../../operator/backup/destination.ts'
import type { Log } from '../../runtime/log.ts'

/** Options that the backup commands share. */

/** Options for the storage of backups, of all commands. */
export const storeOptions: readonly OptionDeclaration[] = [
  { flags: '--s3-endpoint <url>', summary: "S3 server URL (default: BERTH_BACKUP_S3_ENDPOINT, or Amazon's)" },
  {
    flags: '--s3-region <region>',
    summary: 'bucket region (default: BERTH_BACKUP_S3_REGION, or AWS_REGION)',
  },
  {
    flags: '--s3-path-style',
    summary: 'use path-style bucket URLs (default: true if an endpoint is given)',
  },
]

export const passphraseOption: OptionDeclaration = {
  flags: '--passphrase-file <file>',
  summary: 'file with the passphrase of the master key (default: BERTH_BACKUP_PASSPHRASE, or a prompt)',
}

export const destinationParameter = {
  name: 'DESTINATION',
  summary: 'directory or s3://BUCKET/PREFIX',
  required: true,
} as const

/** Explains DESTINATION in the help. */
export const storeNotes = `DESTINATION is a directory, or s3://BUCKET/PREFIX with the credentials of the AWS tools (AWS_ACCESS_KEY_ID, AWS_PROFILE).`

/** Opens the destination that the first argument names, runs `work` and closes it. */
export async function withDestination<T>(
  invocation: Invocation,
  { config, log, mustExist }: { readonly config: Config; readonly log: Log; readonly mustExist: boolean },
  work: (destination: Destination) => Promise<T>,
): Promise<T> {
  const destination = await openDestination(invocation.argument(0), {
    s3: readS3Options(invocation),
    config,
    log,
    mustExist,
  })
  try {
    return await work(destination)
  } finally {
    destination.files.close()
  }
}

function readS3Options({ optionIfSet, flag }: Invocation): S3Options {
  const { env } = process
  const address = optionIfSet('s3Endpoint') ?? (env['BERTH_BACKUP_S3_ENDPOINT'] || undefined)
  const endpoint = address === undefined ? undefined : parseOrigin(address)
  if (address !== undefined && endpoint === undefined)
    throw new UsageError(
      `--s3-endpoint: ${JSON.stringify(address)} must be an http or https URL without a path`,
    )
  const style = env['BERTH_BACKUP_S3_PATH_STYLE'] || undefined
  if (style !== undefined && style !== 'true' && style !== 'false')
    throw new UsageError('BERTH_BACKUP_S3_PATH_STYLE must be true or false')
  return {
    endpoint,
    region: optionIfSet('s3Region') ?? (env['BERTH_BACKUP_S3_REGION'] || undefined),
    pathStyle: flag('s3PathStyle') || (style === undefined ? undefined : style === 'true'),
  }
}

/** Reads the passphrase from the file, the environment or a prompt. A new passphrase must be long enough and is confirmed. */
export async function readPassphrase(
  invocation: Invocation,
  { isNew, hint }: { readonly isNew: boolean; readonly hint: string },
): Promise<string> {
  const passphraseFile = invocation.optionIfSet('passphraseFile')
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

async function promptForPassphrase(isNew: boolean, hint: string): Promise<string> {
  if (process.stdin.isTTY !== true)
    throw new UsageError(
      `the passphrase of the master key is missing: set --passphrase-file or BERTH_BACKUP_PASSPHRASE${hint}`,
    )
  const { password } = await import('@inquirer/prompts')
  // Standard output contains only the result.
  const output = { output: process.stderr }
  const first = await password({ message: 'Passphrase of the master key', mask: '*' }, output)
  if (isNew && (await password({ message: 'Repeat the passphrase', mask: '*' }, output)) !== first)
    throw new SetupError('the passphrases do not match')
  return first
}
