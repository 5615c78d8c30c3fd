import { type Environment, type Flags, resolveSettings } from '../config/settings.ts'
import { findValidToken, openTokenCache } from './token-cache.ts'

/**
 * Returns the stored token for `berth auth token` without loading the command line. Returns undefined in all other cases, including
 * errors: then the command itself runs.
 */
export function findCachedToken(args: readonly string[], env: Environment): string | undefined {
  const flags = parseSimpleFlags(args)
  if (flags === undefined) return undefined
  try {
    const settings = resolveSettings(env, flags)
    return settings.token || findValidToken(openTokenCache(env), settings.audience)
  } catch {
    return undefined
  }
}

const flagNames = ['api', 'issuer', 'audience', 'config', 'profile'] as const

/** Parses flags that select a token, each given once; undefined for any other arguments. */
function parseSimpleFlags(args: readonly string[]): Flags | undefined {
  const words = args.flatMap((arg) => {
    const [, name, value] = /^(--[a-z]+)=(.*)$/s.exec(arg) ?? []
    return name === undefined || value === undefined ? [arg] : [name, value]
  })
  const flags: Record<string, string> = {}
  for (let at = 0; at < words.length; at += 2) {
    const name = flagNames.find((one) => words[at] === `--${one}`)
    const value = words[at + 1]
    if (name === undefined || !value || value.startsWith('-') || Object.hasOwn(flags, name)) return undefined
    // Several audiences are an error.
    if (name === 'audience' && value.includes(',')) return undefined
    flags[name] = value
  }
  return flags
}
