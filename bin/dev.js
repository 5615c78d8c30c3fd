// The program of `npm run dev`, under `node --watch`. Not bin/berth.js: npx changes the attributes of that file, and the server would restart.
import { runProgram } from '@berth/cli/program.ts'
// Loaded now, while Node notes which files to watch.
import '@berth/server/main.ts'
import { stopWithParent } from './restart.js'

stopWithParent()
// Otherwise threads and processes of the server also report their modules, and the server takes these messages for replies.
delete process.env.WATCH_REPORT_DEPENDENCIES
await runProgram(process.argv, {
  operatorCommands: () => import('@berth/server/commands/commands.ts'),
  fileFetcher: () => import('@berth/server/advisories/feeds/fetcher.ts'),
})
