import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { unavailable } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { createFairSemaphore } from '../../runtime/fair-semaphore.ts'
import { isGuessable } from './password-strength.ts'
import { countWithoutPersonalWords, type PasswordOwner, personalWords } from './personal-words.ts'

/**
 * The password policy, and password hashes. The policy requires length, not character classes, and rejects personal and common passwords
 * (NIST SP 800-63B, section 3.1.1).
 */

/** Argon2id with the OWASP minimum parameters; stored with each hash, so that they can be raised. */
const currentCost = { memory: 19 * 1024, passes: 2, parallelism: 1 } as const
const SALT_BYTES = 16
const TAG_BYTES = 32
const SECOND_MS = 1000

type Cost = Pick<Argon2Parameters, 'memory' | 'passes' | 'parallelism'>

const derive = promisify(argon2)
/** Each hash takes 19 MiB and one of the four threads of libuv, which files and DNS need too. */
const hashSemaphore = createFairSemaphore(2)

/** Returns why a password is rejected, as text for the user; undefined if it is accepted. */
export async function checkPasswordPolicy(
  password: string,
  owner: PasswordOwner,
): Promise<string | undefined> {
  const letters = [...normalizePassword(password)]
  const { passwordCharsMin, passwordCharsMax } = limits
  if (letters.length < passwordCharsMin)
    return `Choose a password of at least ${passwordCharsMin} characters. A few unrelated words are easy to remember.`
  if (letters.length > passwordCharsMax) return `A password can have at most ${passwordCharsMax} characters.`
  const rest = countWithoutPersonalWords(letters.join(''), owner)
  if (rest !== undefined && rest < OTHER_LETTERS_MIN)
    return 'Choose a password that is not based on your name, your email address or the name of your organization.'
  if (new Set(letters.join('').toLowerCase()).size < DIFFERENT_LETTERS_MIN)
    return 'Choose a password that does not repeat the same few characters.'
  if (
    await isGuessable(letters.join(''), [
      owner.email,
      owner.name,
      ...owner.organizations,
      ...personalWords(owner),
    ])
  )
    return 'This password is easy to guess, because many people use similar ones. Choose a few unrelated words, or let a password manager generate one.'
  return undefined
}

/** Smallest number of characters of a password besides the words of its owner. */
const OTHER_LETTERS_MIN = 6
const DIFFERENT_LETTERS_MIN = 5

/** Hashes a password in the common format `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`. Rejects with code 14 after `passwordHashWaitMs`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  return formatHash(currentCost, salt, await computeTag(password, salt, currentCost))
}

/**
 * Returns whether a password matches a hash, and whether the hash has outdated parameters. Without a valid hash it takes as long and does
 * not match.
 */
export async function verifyPassword(
  stored: string,
  password: string,
): Promise<{ readonly right: boolean; readonly stale: boolean }> {
  const hash = parseHash(stored)
  const { cost, salt, tag } = hash ?? dummyHash
  const given = await computeTag(password, salt, cost)
  const same = given.length === tag.length && timingSafeEqual(given, tag)
  const { memory, passes, parallelism } = currentCost
  const stale = cost.memory !== memory || cost.passes !== passes || cost.parallelism !== parallelism
  return { right: hash !== undefined && same, stale }
}

interface Hash {
  readonly cost: Cost
  readonly salt: Buffer
  readonly tag: Buffer
}

const dummyHash: Hash = { cost: currentCost, salt: randomBytes(SALT_BYTES), tag: randomBytes(TAG_BYTES) }

async function computeTag(password: string, nonce: Buffer, cost: Cost): Promise<Buffer> {
  const message = Buffer.from(normalizePassword(password).slice(0, 2 * limits.passwordCharsMax))
  const release = await hashSemaphore
    .acquire(AbortSignal.timeout(limits.passwordHashWaitMs))
    .catch((cause: unknown) => {
      throw unavailable('too many users are signing in', SECOND_MS, cause)
    })
  try {
    return await derive('argon2id', { ...cost, message, nonce, tagLength: TAG_BYTES })
  } finally {
    release()
  }
}

/** Unifies characters that keyboards encode in several ways. */
function normalizePassword(password: string): string {
  return password.normalize('NFKC')
}

const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')

function formatHash({ memory, passes, parallelism }: Cost, salt: Buffer, tag: Buffer): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`
}

function parseHash(stored: string): Hash | undefined {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(stored)
  if (parts === null) return undefined
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts
  return {
    cost: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}
