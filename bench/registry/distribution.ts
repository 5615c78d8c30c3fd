import type { Program } from '../children/program.ts'

/** Distribution, or Debian's docker-registry, on a directory, with the settings of Debian's package, and without authentication. */
export function distribution(binary: string, dir: string): Program {
  return {
    command: binary,
    args: ['serve', '{dir}/config.yml'],
    dir,
    env: { OTEL_TRACES_EXPORTER: 'none' },
    files: {
      'config.yml': `version: 0.1
log: { level: error, accesslog: { disabled: true } }
storage:
  cache: { blobdescriptor: inmemory }
  filesystem: { rootdirectory: "{dir}/data" }
  delete: { enabled: true }
http: { addr: "127.0.0.1:{port}" }
`,
    },
  }
}
