import type { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { limits } from '../../config/limits.ts'

/**
 * Detects passwords that attackers try first: common passwords and variants of them, keyboard rows, dates and sequences. The dictionaries
 * are part of the server; no external service is asked. They are loaded when a user first chooses a password, because they take 100 ms and
 * some megabytes.
 */

/** Smallest accepted score of zxcvbn: 10^8 guesses, for which an attacker with the hash needs days. */
const SCORE_MIN = 3
/** Largest number of substitutions of digits for letters that are tried. */
const SUBSTITUTIONS_MAX = 10

let loaded: Promise<ZxcvbnFactory> | undefined

/** Whether a password is easy to guess. `words`: further words to try, such as the name of the owner. */
export async function isGuessable(password: string, words: readonly string[]): Promise<boolean> {
  loaded ??= load()
  return (await loaded).check(password, [...words]).score < SCORE_MIN
}

async function load(): Promise<ZxcvbnFactory> {
  const [core, common] = await Promise.all([import('@zxcvbn-ts/core'), import('@zxcvbn-ts/language-common')])
  return new core.ZxcvbnFactory({
    dictionary: common.dictionary,
    graphs: common.adjacencyGraphs,
    // Scoring a long password is slow, and a longer one is never weaker.
    maxLength: limits.passwordCharsScored,
    l33tMaxSubstitutions: SUBSTITUTIONS_MAX,
  })
}
