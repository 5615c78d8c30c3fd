import type { Environment } from '../config/setting.ts'
import { type Config, settings } from './config.ts'

/** Which settings a running server takes over, and which need a restart. */

/** Settings that differ between two environments and take effect with a restart only. */
export function settingsNeedingRestart(running: Environment, next: Environment): readonly string[] {
  const isTlsToggled = hasTls(running) !== hasTls(next)
  return settings
    .filter(({ name }) => (running[name] ?? '') !== (next[name] ?? ''))
    .filter(({ name, reloads }) => !reloads || (isTlsToggled && name.startsWith('BERTH_TLS_')))
    .map(({ name }) => name)
}

function hasTls(env: Environment): boolean {
  return (env['BERTH_TLS_CERT_FILE'] ?? '') !== ''
}

/** The running configuration with what may change from the next one. */
export function applyReloadableSettings(running: Config, next: Config): Config {
  const { logLevel, rateLimits, signInProvidersFile, tls } = next
  return {
    ...running,
    logLevel,
    rateLimits,
    signInProvidersFile,
    tls: running.tls && (tls ?? running.tls),
  }
}
