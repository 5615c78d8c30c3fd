import { execFileSync } from 'node:child_process'
import { type Cleanup, cleanups } from '../../server/process.ts'

/** A network namespace that holds a service, connected with this machine by a veth pair. Faults are nftables rules inside it. */
export interface ServiceNetwork {
  /** IPv4 address of the service, which only this machine reaches. */
  readonly address: string
  /** The words before a command that runs it inside, as an unprivileged user where `uid` is given. */
  command(uid?: number): readonly string[]
  /** Adds rules to the chain of packets to (`in`) or from (`out`) the service, e.g. `tcp dport 5432 drop`. */
  block(direction: 'in' | 'out', ...rules: readonly string[]): void
  /** Source ports of TCP connections to `port` that are established now. */
  peers(port: number): readonly string[]
  setLink(state: 'up' | 'down'): void
  /** Removes all rules. */
  heal(): void
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Of this process: the last bytes of names and of addresses. */
let networks = 0

/** Why cases that need a network namespace are skipped; false where they run. */
export const withoutNetwork: string | false = whyNoNetwork()

function whyNoNetwork(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'network namespaces need root on Linux'
  const probe = cleanups()
  try {
    const network = startNetwork(probe)
    network.block('in', 'tcp dport 1 reject with tcp reset')
    return false
  } catch (error) {
    return `no network namespace with nftables: ${String((error as Error).message).split('\n')[0]}`
  } finally {
    void probe.run()
  }
}

export function startNetwork(t: Cleanup): ServiceNetwork {
  const id = ++networks
  const name = `berth-${process.pid}-${id}`
  const [outside, inside] = [`bf${process.pid}-${id}`, 'berth0']
  // A /30 of the range for benchmarks (RFC 2544), by process and number.
  const block = ((process.pid % 500) * 32 + (id % 32)) * 4
  const addressOf = (host: number) => `198.18.${(block >> 8) & 255}.${(block & 255) + host}`
  t.after(() => {
    // The kernel removes the other end as well.
    for (const args of [
      ['link', 'del', outside],
      ['netns', 'del', name],
    ]) {
      try {
        run('ip', ...args)
      } catch {
        // Was not created.
      }
    }
  })
  const within = (command: string, ...args: readonly string[]) =>
    run('ip', 'netns', 'exec', name, command, ...args)
  run('ip', 'netns', 'add', name)
  run('ip', 'link', 'add', outside, 'type', 'veth', 'peer', 'name', inside, 'netns', name)
  run('ip', 'addr', 'add', `${addressOf(1)}/30`, 'dev', outside)
  run('ip', 'link', 'set', outside, 'up')
  run('ip', '-n', name, 'addr', 'add', `${addressOf(2)}/30`, 'dev', inside)
  run('ip', '-n', name, 'link', 'set', inside, 'up')
  run('ip', '-n', name, 'link', 'set', 'lo', 'up')
  within('nft', 'add table ip faults')
  within('nft', 'add chain ip faults in { type filter hook input priority 0; }')
  within('nft', 'add chain ip faults out { type filter hook output priority 0; }')
  return {
    address: addressOf(2),
    command: (uid) => [
      'ip',
      'netns',
      'exec',
      name,
      ...(uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']),
    ],
    block(direction, ...rules) {
      for (const rule of rules) within('nft', `add rule ip faults ${direction} ${rule}`)
    },
    peers: (port) =>
      within('ss', '-Htn', 'state', 'established', `sport = :${port}`)
        .split('\n')
        .flatMap((line) => line.trim().split(/\s+/).at(-1)?.split(':').at(-1) || []),
    setLink: (state) => void run('ip', '-n', name, 'link', 'set', inside, state),
    heal: () => void within('nft', 'flush table ip faults'),
  }
}
