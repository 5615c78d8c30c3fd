/** Opens URLs in a browser of this machine. */

/** Reports whether this machine can show a browser. */
export function hasDisplay(): boolean {
  if (process.platform !== 'linux') return true
  const names = ['DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME', 'BROWSER']
  return names.some((name) => process.env[name])
}

/** Opens the URL in a browser; `onFailure` may also be called after this resolves. */
export async function openUrl(url: string, onFailure: () => void): Promise<void> {
  const { default: open } = await import('open')
  const child = await open(url).catch(() => undefined)
  if (child === undefined) onFailure()
  child?.once('error', onFailure)
}
