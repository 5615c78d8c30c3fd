import ipaddr from 'ipaddr.js'
import type { ClientAddressOf } from '../../port/http.ts'

type Address = ReturnType<typeof ipaddr.process>

/**
 * Whose address a request counts for. `X-Forwarded-For` is what anybody may write; only what a proxy of ours appended to it is
 * true (R39). So it is read from its right end, each entry only if the one who wrote it lies in `trustedProxies` (CIDRs), and the
 * first that is no such proxy is the client. An entry that is no address ends the walk at the proxy that wrote it. Addresses come
 * back in one spelling: IPv6 compressed, IPv4 inside IPv6 as IPv4. Throws when a network cannot be read.
 */
export function clientAddressResolver(trustedProxies: readonly string[]): ClientAddressOf {
  const networks = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr))
  const isTrusted = (address: Address) => isInNetworks(networks, address)

  return (socketAddress = '', forwardedFor) => {
    const isDirect = forwardedFor === undefined || networks.length === 0
    // As nearly every request has it, and there is but one spelling.
    if (isDirect && !socketAddress.includes(':')) return socketAddress
    const peer = parseAddress(socketAddress)
    if (peer === undefined) return socketAddress
    if (isDirect) return peer.toString()
    const entries = String(forwardedFor).split(',')
    let client = peer
    while (isTrusted(client)) {
      const entry = entries.pop()
      const before = entry === undefined ? undefined : parseAddress(withoutPort(entry.trim()))
      if (before === undefined) break
      client = before
    }
    return client.toString()
  }
}

/** Whether an address is one of `trustedProxies` (CIDRs): it stands for many clients. Throws if a network cannot be read. */
export function createTrustedProxyTest(
  trustedProxies: readonly string[],
): (address: string | undefined) => boolean {
  const networks = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr))
  return (address = '') => {
    const known = networks.length === 0 ? undefined : parseAddress(address)
    return known !== undefined && isInNetworks(networks, known)
  }
}

type Network = ReturnType<typeof ipaddr.parseCIDR>

function isInNetworks(networks: readonly Network[], address: Address): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
}

/**
 * What one client is counted by: an IPv4 address, or the /64 of an IPv6 address, since that much is what one subscriber gets to
 * choose from. Text that is no address stands for itself.
 */
export function clientAddressKey(address: string): string {
  const known = parseAddress(address)
  if (known === undefined || !(known instanceof ipaddr.IPv6)) return address
  return `${new ipaddr.IPv6([...known.parts.slice(0, 4), 0, 0, 0, 0])}/64`
}

function parseAddress(text: string): Address | undefined {
  // Shorter forms, such as a bare number, are addresses to the parser but to nobody else.
  if (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)) return undefined
  try {
    return ipaddr.process(text)
  } catch {
    return undefined
  }
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, bracketed, four] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? []
  return bracketed ?? four ?? entry
}
