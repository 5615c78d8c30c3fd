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
import { createOutput, type Output, terminalWidth } from '../output/output.ts'
import type { ServerPackage } from '../server-package.ts'
import {
  CommandFailed,
  NotSignedIn,
  stripStatusPrefix,
  type TokenSource,
  Unreachable,
  unreachableHint,
} from '../session/access-token.ts'
import { createClient } from '../session/client.ts'
import { requireAccessToken } from '../session/current-token.ts'
import { failureReason, setRequestLogger } from '../session/http.ts'
import { openTokenCache, type TokenCache } from '../session/token-cache.ts'
import type { CreateInvocation } from './command-declaration.ts'
import type { Choice, Invocation, Prompts } from './invocation.ts'
import { UsageError } from './invocation.ts'
import { createResourceNames } from './resource-names.ts'

/** Connects commands to the terminal, the configuration and the server, and describes failures. */

/** The documented exit codes. */
export const exitCodes = { failed: 1, usage: 2, unreachable: 3, notSignedIn: 4, interrupted: 130 } as const

/** What the commands of `berth auth` need in addition. */
export interface AuthInvocation extends Invocation {
  readonly settings: Settings
  readonly cache: TokenCache
  readonly env: Environment
  readonly flags: Flags
  readonly server: ServerPackage | undefined
}

export function createInvoker(env: Environment, server: ServerPackage | undefined): CreateInvocation {
  return (parameters, command, { formats: ownFormats = [], defaultFormat }): AuthInvocation => {
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
        // Commands that repair the configuration must work without it.
        return undefined
      }
    }
    if (options['logLevel'] === 'debug') setRequestLogger((line) => process.stderr.write(`${line}\n`))
    const isOwn = (format: string) => ownFormats === 'any' || ownFormats.includes(format)
    const output = createOutput({
      format: isOwn(given('output') ?? '')
        ? 'none'
        : resolveFormat(
            options['json'] === true ? 'json' : (given('output') ?? configured() ?? defaultFormat?.(options)),
          ),
      color: options['forceColor'] === true || (options['color'] !== false && supportsColor(env)),
      headers: options['headers'] !== false,
      isTerminal: process.stdout.isTTY === true,
      width: terminalWidth(),
      write: (text) => void process.stdout.write(text),
      writeError: (text) => void process.stderr.write(text),
      progress:
        process.stderr.isTTY === true ? (text) => process.stderr.write(`\r\u001b[K${text}`) : undefined,
    })
    const connectOnce = () => {
      client ??= connect({ settings: resolved(), cache, env }, output)
      return client
    }
    return {
      env,
      flags,
      server,
      cache,
      output,
      names: createResourceNames(connectOnce),
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
      client: connectOnce,
      prompt: createPrompts(options['yes'] === true),
    }
  }
}

function resolveFormat(name = 'table'): Format {
  const format = formats.find((one) => one === name)
  if (format === undefined) throw new UsageError(`--output must be one of ${formats.join(', ')}`)
  return format
}

/** https://no-color.org: any value that is not empty. */
function supportsColor(env: Environment): boolean {
  return process.stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}

async function connect(source: TokenSource, output: Output): Promise<BerthClient> {
  // Fails early with NotSignedIn, whatever the command requests first.
  await requireAccessToken(source)
  return createClient(source, (warning) => output.notice(`warning: ${warning}`))
}

const logLevels = ['error', 'info', 'debug'] as const

const isInteractive = () => process.stdin.isTTY === true && process.stderr.isTTY === true

function createPrompts(yes: boolean): Prompts {
  const context = { output: process.stderr }
  return {
    async select<T>(question: string, missing: string, choices: () => Promise<readonly Choice<T>[]>) {
      if (!isInteractive()) throw new UsageError(`${missing} is required`)
      const all = await choices()
      if (all.length === 0) throw new UsageError(`${missing} is required: there is nothing to choose from`)
      const { search } = await import('@inquirer/prompts')
      return search<T>({ message: question, source: (term = '') => matchChoices(all, term) }, context)
    },
    async input(question, missing) {
      if (!isInteractive()) throw new UsageError(`${missing} is required`)
      const { input } = await import('@inquirer/prompts')
      return input({ message: question, required: true }, context)
    },
    async confirm(question) {
      if (yes) return
      if (!isInteractive()) throw new UsageError(`${question} Confirm with --yes`)
      const { confirm } = await import('@inquirer/prompts')
      if (!(await confirm({ message: question, default: false }, context))) throw new UsageError(CANCELLED)
    },
  }
}

const CANCELLED = 'canceled; nothing was changed'

/** Returns matching choices, those that start with the term first. */
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

/** Describes an error for the user, with the exit code. Returns undefined for a bug. */
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
      lines: [`${failure.message} (${failureReason(error.cause)})`, unreachableHint],
      code: exitCodes.unreachable,
    }
  if (failure.code === UNAUTHENTICATED)
    return {
      lines: [
        stripStatusPrefix(failure.message),
        process.env['BERTH_TOKEN']
          ? 'BERTH_TOKEN has this token: set another one, or unset it and sign in with berth auth login'
          : 'sign in again: berth auth login',
      ],
      code: exitCodes.notSignedIn,
    }
  const violations = failure.fieldViolations.map(({ field, description }) => `${field}: ${description}`)
  const several = violations.length > 1 ? violations.map((line) => `  ${line}`) : []
  return {
    lines: [
      several.length > 0 ? 'the request is invalid:' : stripStatusPrefix(failure.message),
      ...several,
      ...(failure.code === PERMISSION_DENIED ? ['show your roles: berth auth status'] : []),
      ...(failure.code === INTERNAL && failure.requestId ? [`request id: ${failure.requestId}`] : []),
    ],
    code: exitCodes.failed,
  }
}

/** A file that cannot be read or written: reported without a stack trace. */
function describeSystemError(error: Error) {
  const { syscall, code } = error as NodeJS.ErrnoException
  if (syscall === undefined || code === undefined) return undefined
  return { lines: [error.message], code: exitCodes.failed }
}

/** Adds the flags that every command has. */
export function addGlobalFlags(program: Command): void {
  program
    .option('--api <url>', 'API URL (BERTH_API; default http://127.0.0.1:8080)')
    .option('--issuer <url>', 'token service URL (BERTH_ISSUER; default: the API)')
    .option('--config <file>', 'configuration file path (BERTH_CONFIG)')
    .option('--profile <profile>', 'configuration profile (BERTH_PROFILE)')
    .option('-o, --output <format>', `output format: ${formats.join(', ')}`)
    .option('--json', 'same as -o json')
    .option('--no-headers', 'omit the titles of tables and CSV')
    .addOption(new Option('--log-level <level>', 'log level; debug logs each request').choices(logLevels))
    .option('--force-color', 'use color even if the output is not a terminal')
    .option('--no-color', 'disable color (NO_COLOR)')
}
