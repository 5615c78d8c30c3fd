import type { Site } from '../site/fault-site.ts'
import { withoutNetwork } from '../site/network.ts'
import { repeated, TERMINATE_ALL } from './database-faults.ts'
import type { FaultCase } from './fault-case.ts'

/** Faults of the path between nodes and PostgreSQL, in its network namespace or in a proxy. */

/** Applies rules to packets of the database, until they are removed. */
function blocked(
  rules: (site: Site) => { readonly in?: readonly string[]; readonly out?: readonly string[] },
): FaultCase['inject'] {
  return async (site) => {
    const chosen = rules(site)
    site.network.block('in', ...(chosen.in ?? []))
    site.network.block('out', ...(chosen.out ?? []))
    return () => site.network.heal()
  }
}

const to = ({ cluster }: Site) => `tcp dport ${cluster.port}`
const from = ({ cluster }: Site) => `tcp sport ${cluster.port}`
const inNetwork = { shape: {}, skip: withoutNetwork, ready: 'no' } as const
const inProxy = { shape: { path: 'proxy' } } as const

export const networkFaults: readonly FaultCase[] = [
  {
    ...inNetwork,
    name: 'network: packets to and from the database are dropped',
    inject: blocked((site) => ({ in: [`${to(site)} drop`], out: [`${from(site)} drop`] })),
  },
  {
    ...inNetwork,
    name: 'network: replies of the database are dropped',
    inject: blocked((site) => ({ out: [`${from(site)} drop`] })),
  },
  {
    ...inNetwork,
    name: 'network: requests to the database are dropped',
    inject: blocked((site) => ({ in: [`${to(site)} drop`] })),
  },
  {
    ...inNetwork,
    name: 'network: open connections are dropped, new ones work (NAT forgets them)',
    ready: 'any',
    pathWorks: true,
    inject: async (site) => {
      const { network, cluster } = site
      const ports = network.peers(cluster.port).join(', ')
      network.block('in', `tcp sport { ${ports} } ${to(site)} drop`)
      network.block('out', `tcp dport { ${ports} } ${from(site)} drop`)
      return () => network.heal()
    },
  },
  {
    ...inNetwork,
    name: 'network: the database host resets connections',
    inject: blocked((site) => ({ in: [`${to(site)} reject with tcp reset`] })),
  },
  {
    ...inNetwork,
    name: 'network: the database host is unreachable (ICMP)',
    inject: blocked((site) => ({ in: [`${to(site)} reject with icmp type host-unreachable`] })),
  },
  {
    ...inNetwork,
    name: 'network: the network of the database is unreachable (ICMP)',
    inject: blocked((site) => ({ in: [`${to(site)} reject with icmp type net-unreachable`] })),
  },
  {
    ...inNetwork,
    name: 'network: the port is prohibited by a firewall (ICMP)',
    inject: blocked((site) => ({ in: [`${to(site)} reject with icmp type admin-prohibited`] })),
  },
  {
    ...inNetwork,
    name: 'network: 30 % of the packets are lost',
    ready: 'any',
    inject: blocked((site) => ({
      in: [`${to(site)} numgen random mod 100 < 30 drop`],
      out: [`${from(site)} numgen random mod 100 < 30 drop`],
    })),
  },
  {
    ...inNetwork,
    name: 'network: the link of the database is down',
    inject: async ({ network }) => {
      network.setLink('down')
      return () => network.setLink('up')
    },
  },
  {
    name: 'network: the host name of the database does not resolve any more',
    shape: { path: 'name' },
    skip: withoutNetwork,
    ready: 'no',
    inject: async ({ cluster, resolve }) => {
      resolve(undefined)
      // Open connections do not ask for the name; one that a node is opening now is not in the list yet.
      const terminating = await repeated(300, () => cluster.run(TERMINATE_ALL))
      return async () => {
        await terminating()
        resolve(cluster.host)
      }
    },
  },
  {
    ...inProxy,
    name: 'network: replies take 2 s',
    ready: 'any',
    inject: async ({ proxy }) => {
      await proxy.apply({ kind: 'delay', ms: 1000 })
      return () => proxy.apply({ kind: 'pass' })
    },
  },
  {
    ...inProxy,
    name: 'network: connections are reset in the middle of replies, also of commits',
    ready: 'any',
    inject: async ({ proxy }) => {
      await proxy.apply({ kind: 'cut', replyBytes: 2000 })
      return () => proxy.apply({ kind: 'pass' })
    },
  },
  {
    ...inProxy,
    name: 'network: all connections are reset every 500 ms',
    ready: 'any',
    inject: async ({ proxy }) => {
      const timer = setInterval(() => proxy.resetOpen(), 500)
      return () => clearInterval(timer)
    },
  },
  {
    ...inProxy,
    name: 'network: a proxy holds all bytes back and delivers them late',
    ready: 'no',
    inject: async ({ proxy }) => {
      await proxy.apply({ kind: 'stall' })
      return () => proxy.apply({ kind: 'pass' })
    },
  },
  {
    ...inProxy,
    name: 'network: a proxy forgets connections silently, new ones work',
    ready: 'any',
    pathWorks: true,
    inject: async ({ proxy }) => {
      proxy.loseOpen()
      return () => undefined
    },
  },
]
