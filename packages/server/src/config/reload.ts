import { type Config, variables } from './config.ts'

/** Which settings a running server takes over, and which need a restart. */

const reloadable = [
  'BERTH_TLS_CERT_FILE',
  'BERTH_TLS_KEY_FILE',
  'BERTH_LOG_LEVEL',
  'BERTH_RATE_LIMITS',
  'BERTH_RATE_LIMITS_ADDRESS',
  'BERTH_SIGN_IN_PROVIDERS_FILE',
] as const

type Environment = Readonly<Record<string, string | undefined>>

/** Settings that differ between two environments and take effect with a restart only. */
export function settingsNeedingRestart(running: Environment, next: Environment): readonly string[] {
  const changed = Object.keys(variables).filter((name) => (running[name] ?? '') !== (next[name] ?? ''))
  const isTlsToggled = hasTls(running) !== hasTls(next)
  return changed.filter(
    (name) => !reloadable.some((one) => one === name) || (isTlsToggled && name.startsWith('BERTH_TLS_')),
  )
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
