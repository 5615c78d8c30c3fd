/** Calls `next` with a value, or with the result of a promise. For a value it returns synchronously, which saves steps of the queue of microtasks. */
export function whenReady<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
