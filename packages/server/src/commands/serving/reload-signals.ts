/**
 * Handles SIGHUP from now on; without a handler it ends the process. Returns a function that takes what reloads, when the start has created
 * it, and calls it if a signal came before.
 */
export function onReloadSignals(): (reload: () => void) => void {
  let isDue = false
  let reloadNow = () => {
    isDue = true
  }
  process.on('SIGHUP', () => reloadNow())
  return (reload) => {
    reloadNow = reload
    if (isDue) reload()
  }
}
