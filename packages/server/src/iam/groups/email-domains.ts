/** Which e-mail addresses say for whom somebody works. */

/** Whoever has an address here has it from a provider that gives them to everybody. */
const publicProviders = new Set([
  'aol.com',
  'duck.com',
  'fastmail.com',
  'gmail.com',
  'gmx.at',
  'gmx.ch',
  'gmx.com',
  'gmx.de',
  'gmx.net',
  'googlemail.com',
  'hey.com',
  'hotmail.co.uk',
  'hotmail.com',
  'hotmail.de',
  'hotmail.fr',
  'icloud.com',
  'inbox.com',
  'laposte.net',
  'libero.it',
  'live.com',
  'mac.com',
  'mail.com',
  'mail.ru',
  'mailinator.com',
  'me.com',
  'msn.com',
  'naver.com',
  'orange.fr',
  'outlook.com',
  'outlook.de',
  'outlook.fr',
  'pm.me',
  'posteo.de',
  'proton.me',
  'protonmail.com',
  'qq.com',
  'rocketmail.com',
  't-online.de',
  'tuta.com',
  'tutanota.com',
  'web.de',
  'yahoo.co.jp',
  'yahoo.co.uk',
  'yahoo.com',
  'yahoo.de',
  'yahoo.fr',
  'yandex.com',
  'yandex.ru',
  'ymail.com',
  'zoho.com',
  '126.com',
  '163.com',
])

/**
 * The domain of a verified address, in lower case; undefined when there is no address, or when its domain is a public provider's
 * or among `blocked`.
 */
export function employerDomain(email: string, blocked: readonly string[]): string | undefined {
  const at = email.lastIndexOf('@')
  if (at < 1) return undefined
  const domain = email.slice(at + 1).toLowerCase()
  if (domain === '' || publicProviders.has(domain) || blocked.includes(domain)) return undefined
  return domain
}
