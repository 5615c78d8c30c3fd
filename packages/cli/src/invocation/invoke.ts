import type { BerthClient } from '@berth/client/berth.ts'
import { type Command, Option } from 'commander'
import {
  type Environment,
  type Flags,
  type Format,
  formats,
  resolveSettings,
  type Settings,
} from '../config/settings.ts'
import { createOutput, terminalWidth } from '../output/output.ts'
import {
  CommandFailed,
  getAccessToken,
  NotSignedIn,
  stripStatusPrefix,
  Unreachable,
} from '../session/access-token.ts'
import { failureReason, request, setRequestLogger } from '../session/http.ts'
import { openTokenCache, type TokenCache } from '../session/token-cache.ts'
import type { CreateInvocation } from './command-declaration.ts'
import type { Choice, Invocation, Prompts } from './invocation.ts'
import { UsageError } from './invocation.ts'

/** Joins the words of a command with the terminal, the configuration and the server; and tells what went wrong. */

/** Exit codes, as they are documented. */
export const exitCodes = { failed: 1, usage: 2, unreachable: 3, notSignedIn: 4, interrupted: 130 } as const

/** What commands about signing in need besides. */
export interface AuthInvocation extends Invocation {
  readonly settings: Settings
  readonly cache: TokenCache
  readonly env: Environment
  readonly flags: Flags
}

export function createInvoker(env: Environment): CreateInvocation {
  return (parameters, command, ownFormats): AuthInvocation => {
    const options = command.optsWithGlobals() as Readonly<Record<string, unknown>>
    const flags: Flags = options
    let settings: Settings | undefined
    const resolved = () => {
      settings ??= resolveSettings(env, flags)
      return settings
    }
    const cache = openTokenCache(env)
    const given = (option: string) => {
      const value = options[option]
      return value === undefined ? undefined : String(value)
    }
    let client: Promise<BerthClient> | undefined
    const configured = () => {
      try {
        return resolved().properties['output']
      } catch {
        // Commands that mend the configuration must work without it; the others fail when they need more of it.
        return undefined
      }
    }
    if (options['logLevel'] === 'debug') setRequestLogger((line) => process.stderr.write(`${line}\n`))
    const isOwn = (format: string) => ownFormats === 'any' || ownFormats.includes(format)
    const output = createOutput({
      format: isOwn(given('output') ?? '')
        ? 'none'
        : resolveFormat(options['json'] === true ? 'json' : given('output'), configured),
      color: options['forceColor'] === true || (options['color'] !== false && supportsColor(env)),
      isTerminal: process.stdout.isTTY === true,
      width: terminalWidth(),
      write: (text) => void process.stdout.write(text),
      writeError: (text) => void process.stderr.write(text),
      progress:
        process.stderr.isTTY === true ? (text) => process.stderr.write(`\r\u001b[K${text}`) : undefined,
    })
    return {
      env,
      flags,
      cache,
      output,
      get settings() {
        return resolved()
      },
      argument: (at) => [parameters[at] ?? ''].flat().join(' '),
      variadicArgument: (at) => [parameters[at] ?? []].flat().filter((word) => word !== ''),
      option: (option) => given(option) ?? '',
      optionIfSet: given,
      optionValues: (option) => [options[option] ?? []].flat().map(String),
      flag: (option) => options[option] === true,
      property: (name) => resolved().properties[name] ?? '',
      client() {
        client ??= connect({ settings: resolved(), cache })
        return client
      },
      prompt: createPrompts(options['yes'] === true),
    }
  }
}

function resolveFormat(asked: string | undefined, configured: () => string | undefined): Format {
  const text = asked ?? configured() ?? 'table'
  const format = formats.find((one) => one === text)
  if (format === undefined) throw new UsageError(`--output must be one of ${formats.join(', ')}`)
  return format
}

/** https://no-color.org: any value that is not empty. */
function supportsColor(env: Environment): boolean {
  return process.stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}

async function connect(source: { settings: Settings; cache: TokenCache }): Promise<BerthClient> {
  // Asked for once now, so that who is not signed in hears that, whatever the command then does.
  await getAccessToken(source)
  const { createBerthClient } = await import('@berth/client/berth.ts')
  return createBerthClient({
    baseUrl: source.settings.api,
    token: () => getAccessToken(source),
    fetch: request,
  })
}

const logLevels = ['error', 'info', 'debug'] as const

const isInteractive = () => process.stdin.isTTY === true && process.stderr.isTTY === true

function createPrompts(yes: boolean): Prompts {
  const context = { output: process.stderr }
  return {
    async select<T>(question: string, missing: string, choices: () => Promise<readonly Choice<T>[]>) {
      if (!isInteractive()) throw new UsageError(`${missing} must be given`)
      const all = await choices()
      if (all.length === 0) throw new UsageError(`${missing} must be given: there is none to choose from`)
      const { search } = await import('@inquirer/prompts')
      return search<T>({ message: question, source: (term = '') => matchChoices(all, term) }, context)
    },
    async input(question, missing) {
      if (!isInteractive()) throw new UsageError(`${missing} must be given`)
      const { input } = await import('@inquirer/prompts')
      return input({ message: question, required: true }, context)
    },
    async confirm(question) {
      if (yes) return
      if (!isInteractive()) throw new UsageError(`${question} Give --yes to say so`)
      const { confirm } = await import('@inquirer/prompts')
      if (!(await confirm({ message: question, default: false }, context))) throw new UsageError(CANCELLED)
    },
  }
}

const CANCELLED = 'nothing was done'

/** Those that begin with what was typed, then those that have it elsewhere in what is shown of them. */
function matchChoices<T>(all: readonly Choice<T>[], term: string): Choice<T>[] {
  const typed = term.toLowerCase()
  const at = ({ name, description = '' }: Choice<T>) => `${name}  ${description}`.toLowerCase().indexOf(typed)
  const found = all.filter((choice) => at(choice) >= 0)
  const { first = [], others = [] } = Object.groupBy(found, (choice) =>
    at(choice) === 0 ? 'first' : 'others',
  )
  return [...first, ...others]
}

interface ApiFailure {
  readonly name: string
  readonly status: number
  readonly code: number
  readonly message: string
  readonly requestId?: string
  readonly fieldViolations: readonly { readonly field: string; readonly description: string }[]
  readonly preconditionViolations: readonly { readonly description: string }[]
}

const UNAUTHENTICATED = 16
const PERMISSION_DENIED = 7
const INTERNAL = 13

/** What went wrong, in lines for a person, and the exit code. Undefined for what is a mistake of the program. */
export function describeFailure(
  error: unknown,
): { readonly lines: readonly string[]; readonly code: number } | undefined {
  if (error instanceof UsageError) return { lines: [error.message], code: exitCodes.usage }
  if (error instanceof NotSignedIn) return { lines: [error.message], code: exitCodes.notSignedIn }
  if (error instanceof Unreachable) return { lines: [error.message], code: exitCodes.unreachable }
  if (error instanceof CommandFailed) return { lines: [error.message], code: exitCodes.failed }
  if (!(error instanceof Error)) return undefined
  // The prompt was left with Ctrl-C.
  if (error.name === 'ExitPromptError') return { lines: [CANCELLED], code: exitCodes.usage }
  if (error.name === 'TypeError' && error.message.includes('must be a uid'))
    return { lines: [error.message], code: exitCodes.usage }
  if (error.name !== 'BerthError') return describeSystemError(error)
  const failure = error as unknown as ApiFailure
  if (failure.status === 0)
    return {
      lines: [`${failure.message} (${failureReason(error.cause)})`, 'is it running, and is --api right?'],
      code: exitCodes.unreachable,
    }
  if (failure.code === UNAUTHENTICATED)
    return {
      lines: [stripStatusPrefix(failure.message), 'sign in again: berth auth login'],
      code: exitCodes.notSignedIn,
    }
  const violations = failure.fieldViolations.map(({ field, description }) => `${field}: ${description}`)
  const several = violations.length > 1 ? violations.map((line) => `  ${line}`) : []
  return {
    lines: [
      several.length > 0 ? 'the server refuses this:' : stripStatusPrefix(failure.message),
      ...several,
      ...(failure.code === PERMISSION_DENIED ? ['see what you may do: berth auth status'] : []),
      ...(failure.code === INTERNAL && failure.requestId ? [`request id: ${failure.requestId}`] : []),
    ],
    code: exitCodes.failed,
  }
}

/** A file that cannot be read or written: its owner can mend that, so there is no stack. */
function describeSystemError(error: Error) {
  const { syscall, code } = error as NodeJS.ErrnoException
  if (syscall === undefined || code === undefined) return undefined
  return { lines: [error.message], code: exitCodes.failed }
}

/** Declares the flags that every command has. */
export function addGlobalFlags(program: Command): void {
  program
    .option('--api <url>', 'address of the API (BERTH_API; default http://127.0.0.1:8080)')
    .option('--issuer <url>', 'address of the token service (BERTH_ISSUER; default: the API)')
    .option('--config <file>', 'configuration file (BERTH_CONFIG)')
    .option('--profile <name>', 'profile of the configuration file (BERTH_PROFILE)')
    .option('-o, --output <format>', `one of ${formats.join(', ')}`)
    .addOption(new Option('--log-level <level>', 'debug shows each request').choices(logLevels))
    .option('--force-color', 'colours also where there is no terminal')
    .option('--no-color', 'no colours (NO_COLOR)')
}
