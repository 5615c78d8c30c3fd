/** What a page shows, in the query of its address: tab, filters, order. All values are texts. */
export type AddressState = Readonly<Partial<Record<string, string>>>

export const readAddressState = (query: string): AddressState =>
  Object.fromEntries(new URLSearchParams(query))

export function writeAddressState(state: Readonly<Record<string, unknown>>): string {
  const set = Object.entries(state).filter(([, value]) => value !== undefined && value !== '')
  const query = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()
  return query === '' ? '' : `?${query}`
}

/** Text without its percent-encoding; a text with an invalid one as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
