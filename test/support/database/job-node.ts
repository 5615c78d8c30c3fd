import { openPostgresDb, openSqliteDb } from '@berth/server/storage/db.ts'
import { startJobScheduler } from '@berth/server/storage/jobs/job-scheduler.ts'

// A node that leases the job `test` of a database and works on it until it is killed. Arguments: engine, address or file, milliseconds of
// a lease.

const [engine, address = '', leaseMs = '500'] = process.argv.slice(2)
const onError = (error: unknown) => process.stderr.write(`${String(error)}\n`)
const db = await (engine === 'sqlite' ? openSqliteDb(address) : openPostgresDb(address, { onError }))
startJobScheduler(
  { db, clock: Date.now, onError },
  {
    kind: { name: 'test' },
    span: 'job test',
    pollMs: 10,
    leaseMs: Number(leaseMs),
    async run({ savePosition }) {
      await savePosition('half')
      process.stdout.write('leased\n')
      return new Promise(() => undefined)
    },
    onFailure: () => ({}),
  },
)
// Timers of the scheduler do not keep the process alive.
setInterval(() => undefined, 1000)
