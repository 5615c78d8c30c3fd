import type { OperatorCommands } from '@berth/cli/server-package.ts'

/** The commands that the server adds to the command line. Each is loaded when it runs. */
export const operatorCommands: OperatorCommands = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  admin: async () => (await import('./admin.ts')).adminCommands,
}
