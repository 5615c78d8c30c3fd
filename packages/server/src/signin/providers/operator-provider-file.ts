import { readFileSync } from 'node:fs'
import { SetupError } from '../../config/setup-errors.ts'
import { type OperatorProvider, parseOperatorProviders } from './operator-providers.ts'

/** The operator's sign-in providers. Throws a SetupError that names the setting. */
export function readOperatorProviders(file: string | undefined): readonly OperatorProvider[] {
  if (file === undefined) return []
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new SetupError(`BERTH_SIGN_IN_PROVIDERS_FILE cannot be read: ${(error as Error).message}`)
  }
  const read = parseOperatorProviders(text)
  if ('problems' in read)
    throw new SetupError(`BERTH_SIGN_IN_PROVIDERS_FILE ${file}: ${read.problems.join('; ')}`)
  return read.providers
}
