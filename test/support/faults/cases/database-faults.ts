import { setTimeout as sleep } from 'node:timers/promises'
import { withoutPostgres } from '../../database/postgres.ts'
import { type Cluster, kill } from '../site/cluster.ts'
import { withoutBouncer } from '../site/fault-pgbouncer.ts'
import type { Site } from '../site/fault-site.ts'
import type { FaultCase } from './fault-case.ts'

/** Faults of PostgreSQL itself, and of PgBouncer. */

const BACKENDS = "backend_type = 'client backend' and pid <> pg_backend_pid()"
export const TERMINATE_ALL = `select pg_terminate_backend(pid) from pg_stat_activity where ${BACKENDS}`

const cluster = { shape: {}, skip: withoutPostgres, ready: 'no' } as const
const bouncer = {
  shape: { path: 'pgbouncer' },
  skip: withoutPostgres || withoutBouncer,
  ready: 'no',
} as const

/** Ends the server, and starts it again at the end of the fault. */
function stopping(signal: NodeJS.Signals): FaultCase['inject'] {
  return async (site) => {
    await site.cluster.stop(signal)
    return () => site.cluster.start()
  }
}

function freezing(chosen: (pids: readonly number[]) => readonly number[]): FaultCase['inject'] {
  return async (site) => {
    const pids = chosen(site.cluster.pids())
    for (const pid of pids) kill(pid, 'SIGSTOP')
    return () => {
      for (const pid of pids) kill(pid, 'SIGCONT')
    }
  }
}

/** Statements of another client's transaction, which stays open until the fault ends. */
function holdingLocks(...statements: readonly string[]): FaultCase['inject'] {
  return async (site) => {
    const client = await site.cluster.connect()
    await client.query('begin')
    for (const statement of statements)
      await client.query(statement.replaceAll('$organization', site.target.organization))
    return async () => {
      await client.query('rollback')
      await client.end()
    }
  }
}

async function backendOf({ cluster: server }: Site): Promise<number> {
  const { rows } = await server.run(
    `select pid from pg_stat_activity where ${BACKENDS} and datname is not null limit 1`,
  )
  return rows[0].pid
}

export async function repeated(everyMs: number, work: () => Promise<unknown>): Promise<() => Promise<void>> {
  let isOver = false
  const working = (async () => {
    while (!isOver) {
      await work()
      await sleep(everyMs)
    }
  })()
  return async () => {
    isOver = true
    await working
  }
}

/** Turns the primary into a server that only reads, or back. */
async function restart(server: Cluster): Promise<void> {
  await server.stop('SIGINT')
  await server.start()
}

export const databaseFaults: readonly FaultCase[] = [
  {
    ...cluster,
    name: 'database: all its processes are frozen (SIGSTOP)',
    inject: freezing((pids) => pids),
  },
  {
    ...cluster,
    name: 'database: the postmaster is frozen, open connections work',
    ready: 'any',
    inject: freezing((pids) => pids.slice(0, 1)),
  },
  {
    ...cluster,
    name: 'database: one backend is frozen',
    ready: 'any',
    inject: async (site) => {
      const pid = await backendOf(site)
      kill(pid, 'SIGSTOP')
      return () => void kill(pid, 'SIGCONT')
    },
  },
  {
    ...cluster,
    name: 'database: one backend is killed (SIGKILL), the server recovers by itself',
    losesUploads: true,
    ready: 'any',
    inject: async (site) => {
      kill(await backendOf(site), 'SIGKILL')
      return () => undefined
    },
  },
  {
    ...cluster,
    name: 'database: the postmaster is killed (SIGKILL) and started again',
    inject: stopping('SIGKILL'),
    losesUploads: true,
  },
  {
    ...cluster,
    name: 'database: immediate shutdown and start',
    inject: stopping('SIGQUIT'),
    losesUploads: true,
  },
  { ...cluster, name: 'database: fast shutdown and start', inject: stopping('SIGINT') },
  {
    ...cluster,
    name: 'database: smart shutdown, which waits for clients, then start',
    ready: 'any',
    inject: async ({ cluster: server }) => {
      server.signal('SIGTERM')
      return async () => {
        await server.stop('SIGINT')
        await server.start()
      }
    },
  },
  {
    ...cluster,
    name: 'database: fast restarts every 2 s',
    ready: 'any',
    inject: async ({ cluster: server }) => repeated(2000, () => restart(server)),
  },
  {
    ...cluster,
    name: 'database: connections are terminated every 300 ms',
    ready: 'any',
    inject: async ({ cluster: server }) => repeated(300, () => server.run(TERMINATE_ALL)),
  },
  {
    ...cluster,
    name: 'database: all of max_connections are taken by others',
    ready: 'any',
    inject: async ({ cluster: server }) => {
      const others: Awaited<ReturnType<Cluster['connect']>>[] = []
      const taking = await repeated(50, async () => {
        try {
          for (;;) others.push(await server.connect('other'))
        } catch {
          // Full. What the nodes have is taken as well.
          await others[0]?.query(`${TERMINATE_ALL} and application_name <> 'other'`)
        }
      })
      return async () => {
        await taking()
        await Promise.all(others.map((client) => client.end()))
      }
    },
  },
  {
    ...cluster,
    name: 'database: default_transaction_read_only is on',
    ready: 'no',
    inject: async ({ cluster: server }) => {
      await server.run('alter system set default_transaction_read_only = on', 'select pg_reload_conf()')
      return async () => {
        await server.run(
          'set default_transaction_read_only = off',
          'alter system reset default_transaction_read_only',
        )
        await server.run('select pg_reload_conf()')
      }
    },
  },
  {
    name: 'database: demoted, a standby serves at another address (URL with two hosts)',
    losesUploads: true,
    shape: { path: 'hosts' },
    skip: withoutPostgres,
    // Until the standby is promoted, the primary reads only.
    ready: 'no',
    inject: async (site) => {
      await site.cluster.stop('SIGINT')
      site.cluster.demote()
      await site.cluster.start()
      return async () => {
        await site.standby.promote()
        site.primary = site.standby
      }
    },
  },
  {
    name: 'database: its host disappears, the standby is promoted (URL with two hosts)',
    losesUploads: true,
    shape: { path: 'hosts', blobs: 'bucket' },
    skip: withoutPostgres,
    ready: 'no',
    inject: async (site) => {
      // Both are in one namespace: rules by port.
      site.network.block('in', `tcp dport ${site.cluster.port} drop`)
      return async () => {
        await site.standby.promote()
        site.primary = site.standby
      }
    },
  },
  {
    ...cluster,
    name: 'database: a row that all writers need is locked by an idle transaction',
    ready: 'yes',
    inject: holdingLocks("select * from groups where uid = '$organization' for update"),
  },
  {
    ...cluster,
    name: 'database: the counters of an organization are locked by an idle transaction',
    ready: 'yes',
    inject: holdingLocks("select * from counts where root = '$organization' for update"),
  },
  {
    ...cluster,
    name: 'database: a table is locked exclusively (ALTER TABLE by hand)',
    ready: 'any',
    inject: holdingLocks('lock table groups in access exclusive mode'),
  },
  {
    ...cluster,
    name: 'database: the table of audit events is locked exclusively',
    ready: 'any',
    inject: holdingLocks('lock table audit_events in access exclusive mode'),
  },
  {
    ...cluster,
    name: 'database: writes of groups take a minute (a trigger sleeps)',
    ready: 'yes',
    inject: async ({ cluster: server }) => {
      await server.run(
        'create or replace function fault_sleep() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$',
        'create trigger fault_sleep before insert on groups for each row execute function fault_sleep()',
      )
      return async () => {
        await server.run(
          `select pg_cancel_backend(pid) from pg_stat_activity where ${BACKENDS} and query ilike '%groups%'`,
          'drop trigger fault_sleep on groups',
        )
      }
    },
  },
  {
    ...cluster,
    name: 'database: statements are cancelled every 100 ms (57014)',
    ready: 'any',
    inject: async ({ cluster: server }) =>
      repeated(100, () =>
        server.run(
          `select pg_cancel_backend(pid) from pg_stat_activity where ${BACKENDS} and state = 'active'`,
        ),
      ),
  },
  {
    ...cluster,
    name: 'database: deadlocks and serialization failures are forced by a client that locks at random',
    ready: 'yes',
    inject: async ({ cluster: server, target }) =>
      repeated(50, async () => {
        await server
          .run(
            'begin',
            "set local deadlock_timeout = '50ms'",
            `update groups set updated_ms = updated_ms where root = '${target.organization}' and random() < 0.3`,
            `update repos set updated_ms = updated_ms where root = '${target.organization}' and random() < 0.3`,
            `update counts set n = n where root = '${target.organization}'`,
            'commit',
          )
          .catch(() => undefined)
      }),
  },
  {
    ...bouncer,
    name: 'pgbouncer: killed and started again',
    inject: async ({ bouncer: proxy }) => {
      await proxy.stop('SIGKILL')
      return () => proxy.start()
    },
  },
  {
    ...bouncer,
    name: 'pgbouncer: frozen (SIGSTOP)',
    inject: async ({ bouncer: proxy }) => {
      proxy.signal('SIGSTOP')
      return () => proxy.signal('SIGCONT')
    },
  },
  {
    ...bouncer,
    name: 'pgbouncer: paused by its operator (PAUSE)',
    inject: async ({ bouncer: proxy }) => {
      // Waits until no transaction runs.
      const paused = proxy.command('PAUSE').catch(() => undefined)
      return async () => {
        await proxy.command('RESUME')
        await paused
      }
    },
  },
  { ...bouncer, name: 'pgbouncer: PostgreSQL behind it is restarted', inject: stopping('SIGINT') },
]
