/**
 * The address of a PostgreSQL database as libpq reads connection URIs: one or several servers, and which kind of server to use
 * (PostgreSQL manual, sections "Connection URIs" and "Specifying Multiple Hosts").
 */

/** What a server must be: one that accepts writes, one that is not a standby, or any. */
export type SessionAttributes = 'read-write' | 'primary' | 'any'

export interface DatabaseAddress {
  /** One for each server, in the order of the URL; pg understands them, and logs may show their `name`. */
  readonly servers: readonly { readonly name: string; readonly url: string }[]
  readonly attributes: SessionAttributes
  /** Of one attempt to connect to one server; undefined where the URL does not set `connect_timeout`. */
  readonly connectMs: number | undefined
  /** `application_name` of the URL; undefined without one. */
  readonly applicationName: string | undefined
}

const DEFAULT_PORT = '5432'
const primaryKinds: readonly string[] = ['read-write', 'primary', 'any'] satisfies SessionAttributes[]
const replicaKinds: readonly string[] = ['read-only', 'standby', 'prefer-standby', 'any']
/** Values of `sslmode` that are passed on, and those that all mean `verify-full`: the driver may treat them as libpq does one day. */
const plainModes: readonly string[] = ['disable', 'no-verify']
const verifiedModes: readonly string[] = ['allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/**
 * Reads `postgres://user:password@host1:5432,host2/database?target_session_attrs=read-write`. With several servers the attribute is
 * `read-write` unless the URL says otherwise, with one it is `any`. A problem is a phrase that follows the name of the setting. `isReplica`: only
 * for reads. Then the attribute is always `any`, because reads check the server that they get.
 */
export function parseDatabaseAddress(
  text: string,
  { isReplica = false } = {},
): { readonly address: DatabaseAddress } | { readonly problem: string } {
  const match = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]*)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(text)
  if (match === null) return { problem: 'must be an address such as postgres://user@host/database' }
  const [, user, authority = '', path = '', query = ''] = match
  const parameters = new URLSearchParams(query)
  const listed = serversOf(authority, parameters)
  if ('problem' in listed) {
    // The password ended the host: no part of it may be in a message.
    const isUnescaped = user === undefined && text.includes('@')
    return isUnescaped
      ? { problem: 'has a / or ? before the @; write them as %2F and %3F in the password' }
      : listed
  }

  const wanted = parameters.get('target_session_attrs')
  const attributes = attributesOf(wanted, { isReplica, isAlone: listed.servers.length === 1 })
  if (typeof attributes !== 'string') return attributes

  const seconds = parameters.get('connect_timeout')
  if (seconds !== null && !/^[1-9]\d{0,3}$/.test(seconds))
    return { problem: `has connect_timeout=${seconds}, which must be a number of seconds from 1 to 9999` }

  // As the driver, which uses the last of several.
  const sslMode = parameters.getAll('sslmode').at(-1)
  if (sslMode !== undefined && ![...plainModes, ...verifiedModes].includes(sslMode))
    return {
      problem: `has sslmode=${sslMode}, which must be one of ${[...plainModes, ...verifiedModes].join(', ')}`,
    }
  if (sslMode !== undefined && parameters.get('uselibpqcompat') !== 'true')
    parameters.set('sslmode', plainModes.includes(sslMode) ? sslMode : 'verify-full')

  const applicationName = parameters.get('application_name') ?? undefined
  for (const name of ['host', 'port', 'target_session_attrs', 'connect_timeout', 'application_name'])
    parameters.delete(name)
  const servers = listed.servers.map(({ host, port, socket }) => {
    const own = new URLSearchParams(parameters)
    if (socket) own.set('host', host)
    const place = socket ? '' : `${host}:${port}`
    const asked = own.size === 0 ? '' : `?${own}`
    // Without a host the library's parser needs the port beside it.
    if (socket) own.set('port', port)
    return {
      name: socket ? host : place,
      url: `postgres://${user === undefined ? '' : `${user}@`}${place}${path}${socket ? `?${own}` : asked}`,
    }
  })
  if (!servers.every(({ url }) => canParse(url)))
    return { problem: 'must be an address such as postgres://user@host/database' }
  return {
    address: {
      servers,
      attributes,
      connectMs: seconds === null ? undefined : Number(seconds) * 1000,
      applicationName,
    },
  }
}

/** `isAlone`: the address names one server. */
function attributesOf(
  wanted: string | null,
  { isReplica, isAlone }: { readonly isReplica: boolean; readonly isAlone: boolean },
): SessionAttributes | { readonly problem: string } {
  if (wanted === null) return isReplica || isAlone ? 'any' : 'read-write'
  const allowed = isReplica ? replicaKinds : primaryKinds
  if (allowed.includes(wanted)) return isReplica ? 'any' : (wanted as SessionAttributes)
  const others = isReplica ? primaryKinds : replicaKinds
  if (!others.includes(wanted))
    return { problem: `has target_session_attrs=${wanted}, which must be one of ${allowed.join(', ')}` }
  const why = isReplica ? 'a replica is a standby' : 'Berth needs a server that accepts writes'
  return {
    problem: `has target_session_attrs=${wanted}, but ${why}; use ${allowed.slice(0, -1).join(', ')} or any`,
  }
}

interface Server {
  readonly host: string
  readonly port: string
  /** The host is the directory of a Unix socket. */
  readonly socket: boolean
}

/** Of the authority, or of the parameters `host` and `port`, each a list with commas. */
function serversOf(
  authority: string,
  parameters: URLSearchParams,
): { readonly servers: readonly Server[] } | { readonly problem: string } {
  const hostList = parameters.get('host')
  const portList = parameters.get('port')
  if (authority !== '' && hostList !== null)
    return { problem: 'names hosts twice: before the database and as parameter host' }
  const places =
    hostList === null
      ? authority.split(',').map((place) => /^(\[[^\]]*\]|[^:[\]]*)(?::([^:]*))?$/.exec(place) ?? [place])
      : hostList.split(',').map((host) => [host, host, undefined] as const)
  const ports = portList?.split(',') ?? []
  if (ports.length > 1 && ports.length !== places.length)
    return {
      problem: `names ${places.length} hosts and ${ports.length} ports; name one port, or one for each host`,
    }

  const servers: Server[] = []
  for (const [index, [whole, name, ownPort]] of places.entries()) {
    if (name === undefined)
      return {
        problem: `has the host ${JSON.stringify(whole)}, which must be a name or an address with an optional port`,
      }
    if (name === '' && places.length > 1)
      return { problem: `has no name for host ${index + 1} of ${places.length}` }
    const port = ownPort ?? ports[index] ?? ports[0] ?? DEFAULT_PORT
    if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65535)
      return { problem: `has the port ${JSON.stringify(port)}, which must be a number from 1 to 65535` }
    const decoded = decode(name)
    if (decoded === undefined)
      return { problem: `has the host ${JSON.stringify(whole)}, whose percent-encoding is invalid` }
    const socket = decoded.startsWith('/')
    servers.push({ host: socket ? decoded : bracketed(name === '' ? 'localhost' : name), port, socket })
  }
  return { servers }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** As a parameter an IPv6 address has no brackets. */
function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

function canParse(url: string): boolean {
  return URL.canParse(url) || URL.canParse(url.replace('@/', '@localhost/').replace('///', '//localhost/'))
}

/** A database URL of any form without its password, for screens and logs. */
export function withoutPassword(url: string): string {
  return url
    .replace(/^(postgres(?:ql)?:\/\/[^/?#:@]*):[^/?#]*@/, '$1:...@')
    .replace(/([?&](?:ssl)?password=)[^&#]*/g, '$1...')
}
