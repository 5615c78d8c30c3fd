import type { X509Certificate } from 'node:crypto'

/** Distinguished names of Notation's trusted identities (RFC 4514, as the trust policy of the Notary Project restricts it). Pure. */

export type SubjectName = ReadonlyMap<string, string>

const PREFIX = 'x509.subject:'
const required = ['C', 'ST', 'O'] as const
const attributePattern = /^\s*([A-Za-z][A-Za-z0-9-]*|[0-9]+(?:\.[0-9]+)+)\s*=\s*(.*)$/s

/** Parses `x509.subject: C=US, ST=WA, O=acme`, or returns why it is invalid. `*` is not a name. */
export function parseSubjectIdentity(text: string): SubjectName | { readonly problem: string } {
  if (!text.startsWith(PREFIX)) return { problem: `must start with "${PREFIX}", or be "*" alone` }
  const name = new Map<string, string>()
  for (const part of splitAttributes(text.slice(PREFIX.length))) {
    const [, given = '', raw = ''] = attributePattern.exec(part) ?? []
    if (given === '') return { problem: 'must be attributes such as C=US, separated by commas' }
    const attribute = given.toUpperCase() === 'S' ? 'ST' : given.toUpperCase()
    if (/^#|(?<!\\)\+/.test(raw)) return { problem: `must have one plain value of ${attribute}` }
    const value = unescapeValue(raw)
    if (value === '') return { problem: `must have a value of ${attribute}` }
    if (name.has(attribute)) return { problem: `must name ${attribute} once` }
    name.set(attribute, value)
  }
  const missing = required.filter((attribute) => !name.has(attribute))
  return missing.length === 0 ? name : { problem: `must name C, ST and O: ${missing.join(', ')} is missing` }
}

/** Splits at commas that are not escaped. */
function splitAttributes(text: string): string[] {
  return text.match(/(?:\\[\s\S]|[^\\,])+/g) ?? []
}

function unescapeValue(raw: string): string {
  // A trailing space counts only if it is escaped.
  return raw.replace(/(?<!\\)\s+$/, '').replace(/\\([\s\S])/g, '$1')
}

/** Whether the subject of a certificate has all attributes of a name. Attributes that occur several times match no value. */
export function matchesSubject(certificate: X509Certificate, name: SubjectName): boolean {
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, unknown>>
  return [...name].every(
    ([attribute, value]) => Object.hasOwn(subject, attribute) && subject[attribute] === value,
  )
}
