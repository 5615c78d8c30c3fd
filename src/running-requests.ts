import type { HttpHandler } from './http.ts'

/** The requests whose handlers run, so that what they need stays open until they have ended. */
export interface RunningRequests {
  /** The handler, counted. */
  watch(handler: HttpHandler): HttpHandler
  /** Fulfils once no handler runs. */
  none(): Promise<void>
  /** Method and path of each, at most `max`. */
  names(max: number): readonly string[]
}

export function runningRequests(): RunningRequests {
  const running = new Set<Parameters<HttpHandler>[0]>()
  let wake: (() => void) | undefined
  return {
    watch: (handler) => (request) => {
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
    none: () =>
      running.size === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            wake = resolve
          }),
    names(max) {
      const names = [...running].slice(0, max).map(({ method, url }) => `${method} ${url.split('?', 1)[0]}`)
      return running.size > max ? [...names, `${running.size - max} more`] : names
    },
  }
}
