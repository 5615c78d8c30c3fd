import { readFileSync } from 'node:fs'
import { SetupError } from '../../config/setup-errors.ts'
import { type OperatorProvider, parseOperatorProviders } from './operator-providers.ts'

/** The operator's sign-in providers. Throws a SetupError that names the setting. */
export function readOperatorProviders(file: string | undefined): readonly OperatorProvider[] {
  return parseProviderFile(file, readProviderFile(file))
}

/** Content of the file; undefined without one. Throws a SetupError that names the setting. */
export function readProviderFile(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new SetupError(`BERTH_SIGN_IN_PROVIDERS_FILE cannot be read: ${(error as Error).message}`)
  }
}

/** Reads the content of the file. Throws a SetupError that names the setting. */
export function parseProviderFile(
  file: string | undefined,
  text: string | undefined,
): readonly OperatorProvider[] {
  if (text === undefined) return []
  const read = parseOperatorProviders(text)
  if ('problems' in read)
    throw new SetupError(`BERTH_SIGN_IN_PROVIDERS_FILE ${file}: ${read.problems.join('; ')}`)
  return read.providers
}
