import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Cleanup } from '../server/process.ts'

/** A server in a process of its own that accepts every request and answers none, except that of `/open`. */
export interface HangingServer {
  /** `http://`, address and port. */
  readonly url: string
  /** Requests that are open now, and the most that were. */
  open(): Promise<{ readonly open: number; readonly most: number }>
}

const program = `
const server = require('node:http').createServer((request, response) => {
  if (request.url === '/open') return response.end(JSON.stringify({ open, most }))
  most = Math.max(most, ++open)
  response.on('close', () => open--)
})
let open = 0
let most = 0
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

export async function startHangingServer(t: Cleanup): Promise<HangingServer> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => void child.kill('SIGKILL'))
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  const url = `http://127.0.0.1:${String(line).trim()}`
  return {
    url,
    open: async () =>
      (await (await fetch(`${url}/open`)).json()) as { readonly open: number; readonly most: number },
  }
}
