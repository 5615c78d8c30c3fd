import ipaddr from 'ipaddr.js'

/** Returns the IP address that a request counts for, from the address of its socket and its X-Forwarded-For. */
export type ClientAddressOf = (
  socketAddress: string | undefined,
  forwardedFor: string | readonly string[] | undefined,
) => string

type Address = ReturnType<typeof ipaddr.process>

/**
 * Resolves the address of clients behind `trustedProxies` (CIDRs). Any client can write `X-Forwarded-For`; only the entries that trusted
 * proxies appended are true (R39). So it is read from its right end, each entry only if a trusted proxy wrote it, and the first address
 * that is no trusted proxy is the client. An entry that is not an address ends the search at the proxy that wrote it. Addresses are
 * normalized: IPv6 compressed, IPv4 inside IPv6 as IPv4. Throws if a network is invalid.
 */
export function clientAddressResolver(trustedProxies: readonly string[]): ClientAddressOf {
  const networks = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr))
  const isTrusted = (address: Address) => isInNetworks(networks, address)

  return (socketAddress = '', forwardedFor) => {
    const isDirect = forwardedFor === undefined || networks.length === 0
    // Nearly every request: an IPv4 address, which has one spelling.
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

/** Tests whether an address is one of `trustedProxies` (CIDRs), so that many clients share it. Throws if a network is invalid. */
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
 * Returns the key that a client is counted by: an IPv4 address, or the /64 of an IPv6 address, because one subscriber has all of it. Text
 * that is not an address is its own key.
 */
export function clientAddressKey(address: string): string {
  // Nearly every request: parsing it would cost more than the rest of the counting.
  if (!address.includes(':')) return address
  const known = parseAddress(address)
  if (known === undefined || !(known instanceof ipaddr.IPv6)) return address
  return `${new ipaddr.IPv6([...known.parts.slice(0, 4), 0, 0, 0, 0])}/64`
}

function parseAddress(text: string): Address | undefined {
  // The parser accepts shorter forms, such as a bare number.
  if (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)) return undefined
  try {
    return ipaddr.process(text)
  } catch {
    return undefined
  }
}

/** Removes the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, bracketed, four] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? []
  return bracketed ?? four ?? entry
}
