import asyncHooks, { type AsyncResourceOptions } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded before each test file (`--import`). Node's runner finds the test that an error or a nested test belongs to by a hook that is called
 * for each promise of the process, also those of a server in it: a fifth of the processor time. An `AsyncLocalStorage` carries the same with
 * no calls. It replaces the two functions for the runner alone; what loads `node:async_hooks` later gets the original ones.
 */
if (isMainThread) replaceHookOfRunner()

function replaceHookOfRunner(): void {
  const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = asyncHooks
  const running = new AsyncLocalStorage<number>()
  let created: asyncHooks.HookCallbacks['init']
  const exports = createRequire(import.meta.url)('node:async_hooks')
  Object.assign(exports, {
    createHook(callbacks: asyncHooks.HookCallbacks) {
      created = callbacks.init
      return { enable() {}, disable() {} }
    },
    executionAsyncId: () => running.getStore() ?? executionAsyncId(),
    /** A test or a suite. */
    AsyncResource: class extends AsyncResource {
      constructor(type: string, options?: AsyncResourceOptions) {
        super(type, options)
        created?.(this.asyncId(), type, this.triggerAsyncId(), this)
      }
      override runInAsyncScope<This, Result>(
        work: (this: This, ...args: unknown[]) => Result,
        self?: This,
        ...args: unknown[]
      ): Result {
        return super.runInAsyncScope(() => running.run(this.asyncId(), () => work.apply(self as This, args)))
      }
    },
  })
  createRequire(import.meta.url)('node:test')
  Object.assign(exports, { createHook, executionAsyncId, AsyncResource })
}
