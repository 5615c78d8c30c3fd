import type { CommandBody } from '@berth/cli/invocation/command-declaration.ts'
import { plainText } from '../config/setting.ts'
import { settings } from '../installation/config.ts'
import { readConfigOrExit, reportFailure } from './with-installation.ts'

export const serveCommand: CommandBody = {
  options: [
    {
      flags: '--dev',
      summary: 'development mode: allow token issuers on this machine, also over http',
    },
  ],
  notes: `
SIGTERM stops the server. SIGHUP reloads BERTH_ENV_FILE, the TLS files, the sign-in providers, the log level and the rate
limits. Renewed TLS files are also loaded without a signal.

Exit codes: 0 stopped, 1 failed, 2 wrong usage, 3 database or bucket unreachable, 6 the database was migrated by a newer
version, 124 the shutdown timed out, 130 and 143 a second SIGINT or SIGTERM stopped the server immediately.

Environment:
${settingsHelp()}`,
  examples: [
    'berth serve',
    'BERTH_LISTEN=0.0.0.0:8080 BERTH_BASE_URL=https://berth.example.com berth serve',
    'BERTH_DATABASE_URL=postgres://berth:secret@localhost/berth berth serve',
  ],
  run: (invocation) =>
    reportFailure(async () => {
      const config = readConfigOrExit()
      const dev = invocation.flag('dev')
      // The supervisor does without the server, which takes memory.
      if (config.workers > 1) await (await import('./serving/supervise.ts')).supervise(config, dev)
      else await (await import('./serving/serve-alone.ts')).serveAlone(config, dev)
    }),
}

function settingsHelp(): string {
  const width = Math.max(...settings.map(({ name }) => name.length))
  return settings
    .map(({ name, help, defaultText }) => {
      const text = plainText(defaultText === 'none' ? help : `${help} (default: ${defaultText})`)
      return `  ${name.padEnd(width)}  ${text}`
    })
    .join('\n')
}
