import { checkEmail } from '../api/fields.ts'
import { isLoopbackHost } from '../config/loopback.ts'
import { type SettingGroup, setting } from '../config/setting.ts'
import { oneOf } from '../config/setting-values.ts'

export interface MailSettings {
  /** The mail server of the operator; undefined: Berth sends no email. */
  readonly smtp: SmtpSettings | undefined
}

export interface SmtpSettings {
  readonly host: string
  readonly port: number
  /** Whether the connection starts with TLS, instead of STARTTLS. */
  readonly implicitTls: boolean
  /** Whether an attempt fails if the server does not offer STARTTLS. */
  readonly requireTls: boolean
  /** PEM file with the certificate authority of the server; undefined: those of Node. */
  readonly caFile: string | undefined
  /** Undefined: no authentication. */
  readonly login: { readonly user: string; readonly password: string } | undefined
  readonly from: MailAddress
}

export interface MailAddress {
  readonly name: string
  readonly address: string
}

type SmtpServer = Pick<SmtpSettings, 'host' | 'port' | 'implicitTls' | 'login'>

const server = setting('BERTH_SMTP_URL', {
  help: 'mail server that sends invites and password resets: `smtp://user:password@host:port` with STARTTLS, or `smtps://` with TLS from the start; special characters of the password percent-encoded, see [sign-in](sign-in.md#email)',
  default: 'none: Berth sends no email',
  expected:
    'smtp://user:password@host:port or smtps://user:password@host:port, without path; special characters of user and password percent-encoded',
  parse: parseSmtpUrl,
})
const from = setting('BERTH_SMTP_FROM', {
  help: 'sender of the email: `berth@example.com` or `Berth <berth@example.com>`; required with `BERTH_SMTP_URL`',
  expected: 'an email address, such as berth@example.com or Berth <berth@example.com>',
  parse: parseMailAddress,
})
const tls = setting('BERTH_SMTP_TLS', {
  help: '`required` or `optional`: whether email and password may also be sent without TLS to a server that does not offer STARTTLS',
  default: '`required`, and `optional` for a mail server on this machine',
  expected: 'required or optional',
  parse: oneOf(['required', 'optional']),
})
const caFile = setting('BERTH_SMTP_CA_FILE', {
  help: 'PEM file with the certificate authority of the mail server',
  default: 'those of Node',
  expected: 'the path of a file',
  parse: (path) => path,
})

export const mailSettings: SettingGroup<MailSettings> = {
  settings: [server, from, tls, caFile],
  read({ read, report, isSet }) {
    const found = read(server)
    const sender = read(from)
    const tlsMode = read(tls)
    const authority = read(caFile)
    if (found === undefined) return { smtp: undefined }
    if (sender === undefined) {
      if (!isSet(from)) report('BERTH_SMTP_FROM must be set if BERTH_SMTP_URL is')
      return { smtp: undefined }
    }
    const requireTls = tlsMode === undefined ? !isLoopbackHost(found.host) : tlsMode === 'required'
    return { smtp: { ...found, requireTls, caFile: authority, from: sender } }
  },
}

const DEFAULT_PORTS = { 'smtp:': 587, 'smtps:': 465 } as const

/** Undefined for an invalid URL: the message must not repeat it, because it can contain a password. */
export function parseSmtpUrl(text: string): SmtpServer | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text)
  if (protocol !== 'smtp:' && protocol !== 'smtps:') return undefined
  if (hostname === '' || !['', '/'].includes(pathname) || search !== '' || hash !== '') return undefined
  if ((username === '') !== (password === '')) return undefined
  try {
    return {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? DEFAULT_PORTS[protocol] : Number(port),
      implicitTls: protocol === 'smtps:',
      login:
        username === ''
          ? undefined
          : { user: decodeURIComponent(username), password: decodeURIComponent(password) },
    }
  } catch {
    // A percent sign that encodes nothing.
    return undefined
  }
}

const NAME_CHARS_MAX = 100

export function parseMailAddress(text: string): MailAddress | undefined {
  const [, quotedName = '', inBrackets, bare = ''] =
    /^(?:([^<>]*)<([^<>]+)>|([^<>]+))$/.exec(text.trim()) ?? []
  const name = quotedName.trim().replace(/^"(.*)"$/, '$1')
  const address = (inBrackets ?? bare).trim()
  const isValid =
    checkEmail(address) === undefined && name.length <= NAME_CHARS_MAX && !/[\p{Cc}"]/u.test(name)
  return isValid ? { name, address } : undefined
}
