import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

/** A real browser, where the machine has one: Chromium, by BERTH_TEST_CHROMIUM or by one of its names on the PATH. */

const program = findChromium()

/** Why tests that need a browser are skipped; false where they are not. */
export const withoutBrowser: string | false = program === undefined ? 'no Chromium on this machine' : false

/** Starts it with a new, empty profile. It asks nobody for anything but the pages that it is told to open. */
export function startBrowser(): Promise<Browser> {
  if (program === undefined) throw new Error('no Chromium')
  return chromium.launch({
    executablePath: program,
    args: [
      '--headless',
      '--no-sandbox', // it refuses to run as root otherwise
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

function findChromium(): string | undefined {
  const { BERTH_TEST_CHROMIUM, PATH = '' } = process.env
  if (BERTH_TEST_CHROMIUM) return BERTH_TEST_CHROMIUM
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  return PATH.split(delimiter)
    .flatMap((directory) => names.map((name) => join(directory, name)))
    .find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
