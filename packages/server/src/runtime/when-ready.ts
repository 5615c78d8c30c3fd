/** Passes on a value, or what a promise is fulfilled with; without waiting if it is no promise, which saves a step of the event loop's queue. */
export function whenReady<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
