/** Returns a value of an enum of the API as commands print it: `STATE_NOT_AFFECTED` is `not-affected`. `prefix`: what all its values start with. */
export function enumName(value: string, prefix: string): string {
  return value.replace(prefix, '').toLowerCase().replaceAll('_', '-')
}
