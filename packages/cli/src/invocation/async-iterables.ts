/** Helpers for lists that arrive page by page. */

export async function toArray<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

export async function* filterItems<T>(
  items: AsyncIterable<T>,
  keep: (item: T) => boolean,
): AsyncGenerator<T> {
  for await (const item of items) if (keep(item)) yield item
}
