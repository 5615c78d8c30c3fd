import { resolve } from 'node:path'
import { type SettingGroup, setting } from '../config/setting.ts'
import { type MasterKey, parseMasterKey } from '../runtime/encryption.ts'

export interface InstallationSettings {
  /** Absolute path. */
  readonly dataDir: string
  /** Undefined: `master.key` in the data directory. */
  readonly masterKey: MasterKey | undefined
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

export const installationSettings: SettingGroup<InstallationSettings> = {
  settings: [envFile, dataDir, masterKey],
  read: ({ read }) => ({ dataDir: resolve(read(dataDir)), masterKey: read(masterKey) }),
}
