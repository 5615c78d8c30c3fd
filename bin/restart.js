import { spawn } from 'node:child_process'

/**
 * Runs this program again with another Node, and exits as it does. Never resolves; rejects if that Node cannot be started.
 *
 * @param {string} node
 * @returns {Promise<never>}
 */
export function restartWith(node) {
  const child = spawn(node, process.argv.slice(1), { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  // Forward signals to the child. A terminal sends Ctrl-C to both processes itself.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'])
    process.on(signal, () => {
      if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal)
    })
  child.on('exit', (status, signal) => {
    if (signal === null) process.exit(status)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
  return new Promise((_, reject) => child.on('error', reject))
}

/** Stops this process if the process that restarted it was killed, which could forward no signal. */
export function stopWithParent() {
  if (!process.connected) return
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}
