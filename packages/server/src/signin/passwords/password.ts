import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { unavailable } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { createFairSemaphore } from '../../runtime/fair-semaphore.ts'
import { isGuessable } from './password-strength.ts'
import { countWithoutPersonalWords, type PasswordOwner, personalWords } from './personal-words.ts'

/**
 * Passwords: what may be one, and how they are kept. Length counts, not which kinds of letters there are, and what belongs to the
 * person or is tried first is refused (NIST SP 800-63B, section 3.1.1).
 */

/** Argon2id with the least that OWASP advises; stored with each hash, so that they can be raised. */
const currentCost = { memory: 19 * 1024, passes: 2, parallelism: 1 } as const
const SALT_BYTES = 16
const TAG_BYTES = 32
const SECOND_MS = 1000

type Cost = Pick<Argon2Parameters, 'memory' | 'passes' | 'parallelism'>

const derive = promisify(argon2)
/** Each takes a thread of four that files and names need as well, and 19 MiB. Rejects with code 14 for whoever waits too long. */
const hashSemaphore = createFairSemaphore(2)

/** Why a password cannot be taken, in words for whoever chose it; undefined when it can. */
export async function checkPasswordPolicy(
  password: string,
  owner: PasswordOwner,
): Promise<string | undefined> {
  const letters = [...normalizePassword(password)]
  const { passwordCharsMin, passwordCharsMax } = limits
  if (letters.length < passwordCharsMin)
    return `Choose a password of at least ${passwordCharsMin} characters. A few words that do not belong together are easy to remember.`
  if (letters.length > passwordCharsMax) return `A password may have at most ${passwordCharsMax} characters.`
  const rest = countWithoutPersonalWords(letters.join(''), owner)
  if (rest !== undefined && rest < OTHER_LETTERS_MIN)
    return 'Choose a password that is not made of your name or e-mail address, or of the name of your organization.'
  if (new Set(letters.join('').toLowerCase()).size < DIFFERENT_LETTERS_MIN)
    return 'Choose a password that does not repeat a few characters.'
  if (
    await isGuessable(letters.join(''), [
      owner.email,
      owner.name,
      ...owner.organizations,
      ...personalWords(owner),
    ])
  )
    return 'This password is easy to guess: many people have one like it. Choose a few words that do not belong together, or let a password manager make one.'
  return undefined
}

/** What must be left of a password besides the words of its owner. */
const OTHER_LETTERS_MIN = 6
const DIFFERENT_LETTERS_MIN = 5

/** `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`, as other programs write it. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  return formatHash(currentCost, salt, await computeTag(password, salt, currentCost))
}

/**
 * Whether this is the password of a hash, and whether the hash was made with parameters that are no longer the current ones. Without
 * a hash it takes as long and is wrong.
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
      throw unavailable('too many people sign in at the moment', SECOND_MS, cause)
    })
  try {
    return await derive('argon2id', { ...cost, message, nonce, tagLength: TAG_BYTES })
  } finally {
    release()
  }
}

/** One form of letters that keyboards make in several ways. */
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
