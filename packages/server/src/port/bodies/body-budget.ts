import { ApiError, Code } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { clientAddressKey } from '../../pipeline/limits/client-address.ts'

/** Counts the request bytes that wait in memory, so that unfinished requests cannot fill it. */
export interface BodyBudget {
  /**
   * Starts a request of `connection`; any object that stands for the connection identifies it. `address`: where it comes from, the
   * client behind a trusted proxy; without one the connection counts for itself.
   */
  open(connection: object, address?: string): BufferedBody
  /** Bytes that all requests hold now. */
  readonly buffered: number
}

/** What one request holds. */
export interface BufferedBody {
  /**
   * Counts `bytes` more. Fails with RESOURCE_EXHAUSTED (HTTP 503, RetryInfo) if the connection or the process would hold too much;
   * then it counts nothing, and the request must drop what it has and call `release`.
   */
  grow(bytes: number): void
  /** Gives back everything that this request holds. It may grow again afterwards. */
  release(): void
}

const RETRY_DELAY_MS = 1000

/**
 * A budget of `perConnectionMax` bytes for each connection and `totalMax` bytes for the process. A client address never holds more than
 * what it leaves free for all others, however many connections it has: no single client can use the budget up.
 */
export function createBodyBudget({
  perConnectionMax,
  totalMax,
  isTrustedProxy = () => false,
}: {
  readonly perConnectionMax: number
  readonly totalMax: number
  /** Whether an address stands for many clients; default: none does. */
  readonly isTrustedProxy?: ((address: string | undefined) => boolean) | undefined
}): BodyBudget {
  const connections = new WeakMap<object, { bytes: number }>()
  /** Bytes by address, or by connection where the address is unknown or stands for many clients. */
  const clients = new Map<string | object, number>()
  let buffered = 0

  return {
    open(connection, address = '') {
      const held = connections.get(connection) ?? { bytes: 0 }
      connections.set(connection, held)
      const client = address === '' || isTrustedProxy(address) ? connection : clientAddressKey(address)
      let own = 0
      return {
        grow(bytes) {
          const wanted = held.bytes + bytes
          if (wanted > perConnectionMax)
            throw budgetExhausted(
              `the requests of this connection that are still being received hold more than ${perConnectionMax} bytes; send fewer at a time`,
            )
          const wantedOfClient = (clients.get(client) ?? 0) + bytes
          if (wantedOfClient > totalMax - buffered - bytes)
            throw budgetExhausted('the server is receiving too much data at the moment')
          held.bytes = wanted
          clients.set(client, wantedOfClient)
          own += bytes
          buffered += bytes
        },
        release() {
          if (own === 0) return
          held.bytes -= own
          const left = (clients.get(client) ?? 0) - own
          if (left > 0) clients.set(client, left)
          else clients.delete(client)
          buffered -= own
          own = 0
        },
      }
    },
    get buffered() {
      return buffered
    },
  }
}

/** The budget of a server; `replaced` replaces single limits of config/limits.ts. */
export function createServerBodyBudget(
  overrides: Partial<Record<'bufferedBytesPerConnectionMax' | 'bufferedBytesMax', number>> = {},
  isTrustedProxy?: (address: string | undefined) => boolean,
): BodyBudget {
  const { bufferedBytesPerConnectionMax: perConnectionMax, bufferedBytesMax: totalMax } = {
    ...limits,
    ...overrides,
  }
  return createBodyBudget({ perConnectionMax, totalMax, isTrustedProxy })
}

/** 503 rather than the 429 of rate limits: the caller need not have done anything too often. */
function budgetExhausted(description: string): ApiError {
  return new ApiError(Code.RESOURCE_EXHAUSTED, `Resource exhausted: ${description}`, {
    reason: 'BODY_BUDGET_EXHAUSTED',
    httpStatus: 503,
    details: [{ kind: 'RetryInfo', retryDelayMs: RETRY_DELAY_MS }],
  })
}
