import type { Page, Request } from 'playwright-core'

/** Requests that a test lets wait, as on a slow connection. */
export interface HeldRequests {
  /** The first request to the address. */
  readonly asked: Promise<Request>
  release(): void
}

interface HoldOptions {
  /** By default any. */
  readonly method?: string
  /** The requests after the first one pass. */
  readonly isFirstOnly?: boolean
}

/** Requests to an address wait until they are released. */
export async function hold(
  page: Page,
  address: RegExp,
  { method, isFirstOnly = false }: HoldOptions = {},
): Promise<HeldRequests> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let held = 0
  await page.route(address, async (route) => {
    const isHeld = method === undefined || route.request().method() === method
    if (isHeld && !(isFirstOnly && held++ > 0)) await promise
    await route.continue()
  })
  const asked = page.waitForRequest(address)
  // Not every test waits for it.
  asked.catch(() => undefined)
  return { asked, release: resolve }
}
