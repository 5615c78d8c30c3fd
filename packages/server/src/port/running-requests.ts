import type { HttpHandler } from './http.ts'

/** The requests whose handlers run, so that what they need stays open until they have ended. */
export interface RunningRequests {
  /** The handler, counted. */
  track(handler: HttpHandler): HttpHandler
  /** Fulfils once no handler runs. */
  whenIdle(): Promise<void>
  /** Method and path of each, at most `max`. */
  describe(max: number): readonly string[]
}

export function createRunningRequests(): RunningRequests {
  const running = new Set<Parameters<HttpHandler>[0]>()
  let wake: (() => void) | undefined
  return {
    track: (handler) => (request) => {
      const reply = handler(request)
      if (!(reply instanceof Promise)) return reply
      running.add(request)
      const done = () => {
        running.delete(request)
        if (running.size === 0) wake?.()
      }
      reply.then(done, done)
      return reply
    },
    whenIdle: () =>
      running.size === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            wake = resolve
          }),
    describe(max) {
      const names = [...running].slice(0, max).map(({ method, url }) => `${method} ${url.split('?', 1)[0]}`)
      return running.size > max ? [...names, `${running.size - max} more`] : names
    },
  }
}
