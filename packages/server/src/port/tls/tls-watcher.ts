import { type FSWatcher, watch } from 'node:fs'
import { dirname } from 'node:path'
import { limits } from '../../config/limits.ts'
import type { Log } from '../../runtime/log.ts'
import type { TlsSettings } from '../settings.ts'
import { expiryWarning, parseTlsFiles, readTlsFiles, type TlsFiles } from './tls-files.ts'

/** What a server uses, for one that continues it. */
export interface TlsInUse {
  readonly settings: TlsSettings
  readonly cert: string
  readonly key: string
}

/** Follows the TLS files: renewed ones are used for new connections. */
export interface TlsWatcher {
  readonly current: TlsFiles
  readonly inUse: TlsInUse
  /** Reads the files now, also those of other settings. Throws a SetupError and keeps the current ones if they cannot be used. */
  reload(settings: TlsSettings): void
  stop(): void
}

export interface TlsWatcherOptions {
  readonly log: Log
  /** What is used instead of files that cannot be used. */
  readonly former?: TlsInUse | undefined
  readonly onChange: (files: TlsFiles) => void
  /** Between two reads of the files; default `tlsPollMs`. */
  readonly pollMs?: number | undefined
}

/**
 * Directories are watched, since files are replaced by renames, or by the swap of a link (Kubernetes); not every file system reports
 * changes, so the files are also read every `tlsPollMs`. Throws a SetupError for files that cannot be used, unless
 * there are former ones.
 */
export function watchTls(
  settings: TlsSettings,
  { log, former, onChange, pollMs = limits.tlsPollMs }: TlsWatcherOptions,
): TlsWatcher {
  let files = settings
  let problem = ''
  let warnedMs = Number.NEGATIVE_INFINITY
  let scheduledCheck: NodeJS.Timeout | undefined
  let watchers: FSWatcher[] = []

  const reportProblem = ({ message }: Error) => {
    // Of two files one is replaced first: said once, and read again until they match.
    if (message !== problem) log.warn({}, `the former certificate stays in use: ${message}`)
    problem = message
  }
  const readFirst = (): TlsFiles => {
    try {
      return readTlsFiles(files)
    } catch (error) {
      if (former === undefined) throw error
      reportProblem(error as Error)
      return parseTlsFiles(former.settings, former)
    }
  }
  let current = readFirst()

  const warnOfExpiry = () => {
    const warning = expiryWarning(current, Date.now())
    if (warning === undefined || Date.now() - warnedMs < limits.tlsExpiryNoticeMs) return
    warnedMs = Date.now()
    log.warn({ expires: new Date(current.expiresMs).toISOString() }, warning)
  }
  const applyFiles = (next: TlsFiles) => {
    problem = ''
    if (next.cert === current.cert && next.key === current.key) return
    current = next
    warnedMs = Number.NEGATIVE_INFINITY
    onChange(next)
    log.info(
      { expires: new Date(next.expiresMs).toISOString() },
      'new connections get the renewed certificate',
    )
  }
  const checkFiles = () => {
    try {
      applyFiles(readTlsFiles(files))
    } catch (error) {
      reportProblem(error as Error)
    }
    warnOfExpiry()
  }
  const scheduleCheck = () => {
    clearTimeout(scheduledCheck)
    scheduledCheck = setTimeout(checkFiles, SETTLE_MS).unref()
  }
  const watchDirectories = () => {
    for (const watcher of watchers) watcher.close()
    watchers = [...new Set([dirname(files.certFile), dirname(files.keyFile)])].flatMap((directory) => {
      try {
        // What it does not report, or not any more, the poll finds.
        return [watch(directory, { persistent: false }, scheduleCheck).on('error', () => undefined)]
      } catch {
        return []
      }
    })
  }
  watchDirectories()
  warnOfExpiry()
  const poll = setInterval(checkFiles, pollMs).unref()
  return {
    get current() {
      return current
    },
    get inUse() {
      return { settings: files, cert: current.cert, key: current.key }
    },
    reload(settings) {
      const next = readTlsFiles(settings)
      files = settings
      applyFiles(next)
      watchDirectories()
    },
    stop() {
      clearInterval(poll)
      clearTimeout(scheduledCheck)
      for (const watcher of watchers) watcher.close()
    },
  }
}

/** A renewal writes several files. */
const SETTLE_MS = 100
