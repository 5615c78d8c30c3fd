/** A time in the zone of the browser, with the exact time as its title. */

const format = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })

export function Time({ value }: { readonly value: string | undefined }) {
  if (value === undefined) return <span className="muted">never</span>
  return (
    <time dateTime={value} title={value}>
      {format.format(new Date(value))}
    </time>
  )
}
