/** Returns a count with its noun, such as `1 tag` and `2 tags`. */
export function plural(count: number | bigint | string, one: string, many = `${one}s`): string {
  return `${count} ${Number(count) === 1 ? one : many}`
}
