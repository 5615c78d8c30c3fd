import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { limits } from '../config/limits.ts'
import { type SettingGroup, setting } from '../config/setting.ts'
import { type MasterKey, parseMasterKey } from '../runtime/encryption.ts'

export interface InstallationSettings {
  /** Absolute path. */
  readonly dataDir: string
  /** Undefined: `master.key` in the data directory. */
  readonly masterKey: MasterKey | undefined
  /** Processes that serve; 1: the server is one process. */
  readonly workers: number
}

/** In the directory that the command is started in. */
export const DEFAULT_DATA_DIR = 'data'

/** Read before the others, see environment.ts. */
const envFile = setting('BERTH_ENV_FILE', {
  help: 'file with these settings, one `NAME=VALUE` on each line, with `#` comments and quotes; variables of the environment win. Other names, such as `AWS_REGION`, become variables at the start',
  expected: 'the path of a file',
  parse: (path) => path,
})
const dataDir = setting('BERTH_DATA_DIR', {
  help: 'directory of the SQLite database, the master key, the bytes of images unless they are in a bucket, and the downloads of advisory feeds',
  default: `\`./${DEFAULT_DATA_DIR}\``,
  expected: 'the path of a directory',
  parse: (path) => path,
  fallback: DEFAULT_DATA_DIR,
})
const masterKey = setting('BERTH_MASTER_KEY', {
  help: '32 bytes in base64 that encrypt secrets',
  default: '`master.key` in the data directory',
  expected: '32 bytes in base64, such as `openssl rand -base64 32` prints',
  parse: parseMasterKey,
})

const workers = setting('BERTH_WORKERS', {
  help: `processes that serve the port together, see [workers](#workers) (1-${limits.workersMax}); \`auto\`: one for each core`,
  default: '`1`: a single process',
  expected: `auto, or a number from 1 to ${limits.workersMax}`,
  parse: parseWorkers,
  fallback: 1,
})

export const installationSettings: SettingGroup<InstallationSettings> = {
  settings: [envFile, dataDir, masterKey, workers],
  read: ({ read }) => ({
    dataDir: resolve(read(dataDir)),
    masterKey: read(masterKey),
    workers: read(workers),
  }),
}

function parseWorkers(value: string): number | undefined {
  if (value === 'auto') return Math.min(availableParallelism(), limits.workersMax)
  const workers = /^\d{1,2}$/.test(value) ? Number(value) : 0
  return workers >= 1 && workers <= limits.workersMax ? workers : undefined
}
