import type { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { limits } from '../../config/limits.ts'

/**
 * Passwords that are tried first: those that many people have, such that differ from them in little, keyboard rows, dates and sequences.
 * The lists come with the program; nobody is asked about a password. They are loaded when somebody first chooses one, since they take
 * a tenth of a second and some megabytes.
 */

/** On the scale of zxcvbn: fewer than 10^8 guesses, which somebody with the hash makes in days. */
const SCORE_MIN = 3
/** Ways to read digits as letters that are tried. */
const SUBSTITUTIONS_MAX = 10

let loaded: Promise<ZxcvbnFactory> | undefined

/** `words`: what else somebody would try, such as the name of the owner. */
export async function isGuessable(password: string, words: readonly string[]): Promise<boolean> {
  loaded ??= load()
  return (await loaded).check(password, [...words]).score < SCORE_MIN
}

async function load(): Promise<ZxcvbnFactory> {
  const [core, common] = await Promise.all([import('@zxcvbn-ts/core'), import('@zxcvbn-ts/language-common')])
  return new core.ZxcvbnFactory({
    dictionary: common.dictionary,
    graphs: common.adjacencyGraphs,
    // A long one takes long to judge, and only gets better.
    maxLength: limits.passwordCharsScored,
    l33tMaxSubstitutions: SUBSTITUTIONS_MAX,
  })
}
