/** Which email addresses identify an employer. */

/** Providers that give addresses to the public. */
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
 * Returns the domain of a verified address, in lower case; undefined without an address, and for domains of public providers and those
 * among `blocked`.
 */
export function employerDomain(email: string, blocked: readonly string[]): string | undefined {
  const at = email.lastIndexOf('@')
  if (at < 1) return undefined
  const domain = email.slice(at + 1).toLowerCase()
  if (domain === '' || publicProviders.has(domain) || blocked.includes(domain)) return undefined
  return domain
}
