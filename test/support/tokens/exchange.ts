import { call, type RestReply } from '../api/rest.ts'

/** The exchange of the token service, as its tests call it. */

export type ExchangeParameters = Readonly<Record<string, string | readonly string[]>>

/** A query or form; a parameter with several values is repeated. */
export function toSearchParams(asked: ExchangeParameters): URLSearchParams {
  return new URLSearchParams(
    Object.entries(asked).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    ),
  )
}

export function exchange(url: string, token: string, asked: ExchangeParameters): Promise<RestReply> {
  return call('POST', `${url}/sts/exchange`, {
    token,
    body: toSearchParams(asked).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
}

/** `ok`, or the HTTP status and the RPC code: `403/7`. */
export function statusOf({ status, body }: RestReply): string {
  return status === 200 ? 'ok' : `${status}/${body.code}`
}
