import ipaddr from 'ipaddr.js'

type Address = ReturnType<typeof ipaddr.process>
type Network = ReturnType<typeof ipaddr.parseCIDR>

/** Decides which addresses may be connected to. */
export interface AddressGuard {
  /**
   * Whether a connection to this address is allowed. Encrypted ones may go to globally reachable unicast
   * addresses and to the allowed networks; plain ones to the allowed networks only. An address that cannot be
   * read is refused.
   */
  allows(address: string, transport: 'plain' | 'encrypted'): boolean
}

/** The only block from which IANA assigns global unicast addresses (RFC 4291 section 2.4). */
const globalUnicast6 = ipaddr.parseCIDR('2000::/3')

/**
 * A guard that knows `privateNetworks` (CIDR notation) as allowed on top of what is globally reachable.
 * Everything with a special purpose is refused: private, loopback, link-local, unspecified, multicast, shared
 * (CGNAT), documentation, benchmarking, and the forms that carry an IPv4 address inside (mapped ones are
 * evaluated as the IPv4 address they are; NAT64, 6to4 and Teredo never pass). Throws when a network cannot be
 * read.
 */
export function createAddressGuard(privateNetworks: readonly string[]): AddressGuard {
  const networks = privateNetworks.map(readNetwork)
  return {
    allows(text, transport) {
      const address = readAddress(text)
      if (address === undefined) return false
      if (networks.some((network) => contains(network, address))) return true
      return transport === 'encrypted' && isGloballyReachable(address)
    },
  }
}

function isGloballyReachable(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || contains(globalUnicast6, address)
}

function contains([network, bits]: Network, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits)
}

function readAddress(text: string): Address | undefined {
  try {
    return ipaddr.process(text)
  } catch {
    return undefined
  }
}

function readNetwork(text: string): Network {
  try {
    return ipaddr.parseCIDR(text)
  } catch {
    throw new Error(`not a network in CIDR notation: ${JSON.stringify(text)}`)
  }
}
