import { limits } from '../core/limits.ts'
import { newSecret, pending } from '../storage/pending.ts'
import type { Store } from '../storage/store.ts'
import type { SessionPlace } from '../sts/sessions.ts'
import type { Grant } from './grant.ts'
import { newUserCode } from './user-code.ts'

/**
 * Devices that wait for a person to let them in (RFC 8628): the device holds a secret code with which it asks again and again,
 * the person types the short one. What was decided is fetched once.
 */

/** What the device wants, and where it asked from: the person compares. */
export interface DeviceRequest extends SessionPlace {
  readonly client: string
  readonly audiences: readonly string[]
  readonly idToken: boolean
}

export interface WaitingDevice extends DeviceRequest {
  readonly userCode: string
  readonly startedMs: number
}

interface Kept extends WaitingDevice {
  readonly expiresMs: number
  /** Least time between two questions; grows with each that comes too soon. */
  readonly intervalMs: number
  readonly askedMs: number
  readonly decision: { readonly grant: Grant | undefined } | undefined
}

/** Errors of RFC 8628 section 3.5, and `unknown` for a code that is none, or was used. */
export type DeviceAnswer =
  | { readonly kind: 'granted'; readonly grant: Grant }
  | {
      readonly kind: 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' | 'unknown'
    }

export interface DeviceCodes {
  begin(request: DeviceRequest): Promise<{ readonly deviceCode: string; readonly userCode: string }>
  /** The device that waits under this code; undefined when none does any more. */
  waiting(userCode: string): Promise<WaitingDevice | undefined>
  /** Lets it in, or with `undefined` not. False when it does not wait any more. */
  decide(userCode: string, grant: Grant | undefined): Promise<boolean>
  /** The device asks. */
  ask(deviceCode: string, client: string): Promise<DeviceAnswer>
}

const SLOWER_MS = 5000
const ATTEMPTS_MAX = 5

export function deviceCodes(store: Pick<Store, 'db' | 'clock' | 'secretsKey'>): DeviceCodes {
  const { db, clock } = store
  // Remembered for longer than they hold, so that a device hears that it came too late.
  const devices = pending<Kept>(store, 'device', 2 * limits.deviceCodeMs)
  const byUserCode = pending<string>(store, 'device_user_code', limits.deviceCodeMs)

  /** Chance may give two devices one code: the second takes another. */
  const newCode = async (deviceCode: string, attempts = ATTEMPTS_MAX): Promise<string> => {
    try {
      return await byUserCode.keep(deviceCode, newUserCode())
    } catch (error) {
      if (attempts === 1 || !db.rules.isUniqueViolation(error)) throw error
      return newCode(deviceCode, attempts - 1)
    }
  }
  const isWaiting = ({ decision, expiresMs }: Kept) => decision === undefined && expiresMs > clock()

  return {
    async begin(request) {
      const deviceCode = newSecret()
      const userCode = await newCode(deviceCode)
      const startedMs = clock()
      await devices.keep(
        {
          ...request,
          userCode,
          startedMs,
          expiresMs: startedMs + limits.deviceCodeMs,
          intervalMs: limits.deviceIntervalMs,
          askedMs: startedMs - limits.deviceIntervalMs,
          decision: undefined,
        },
        deviceCode,
      )
      return { deviceCode, userCode }
    },

    async waiting(userCode) {
      const deviceCode = await byUserCode.read(userCode)
      const device = deviceCode === undefined ? undefined : await devices.read(deviceCode)
      return device !== undefined && isWaiting(device) ? device : undefined
    },

    async decide(userCode, grant) {
      const deviceCode = await byUserCode.take(userCode)
      if (deviceCode === undefined) return false
      return devices.replace(deviceCode, (device) =>
        isWaiting(device) ? { ...device, decision: { grant } } : undefined,
      )
    },

    async ask(deviceCode, client) {
      const answer = await look(deviceCode, client)
      if (answer.kind !== 'granted') return answer
      // Of many who ask at once, one gets it.
      return (await devices.take(deviceCode)) === undefined ? { kind: 'unknown' } : answer
    },
  }

  async function look(deviceCode: string, client: string): Promise<DeviceAnswer> {
    let answer: DeviceAnswer = { kind: 'unknown' }
    await devices.replace(deviceCode, (device) => {
      // Another client's code is none.
      if (device.client !== client) return undefined
      const { decision } = device
      if (decision?.grant !== undefined && device.expiresMs > clock()) {
        answer = { kind: 'granted', grant: decision.grant }
        return undefined
      }
      if (device.expiresMs <= clock()) answer = { kind: 'expired_token' }
      else if (decision !== undefined) answer = { kind: 'access_denied' }
      else if (clock() - device.askedMs < device.intervalMs) {
        answer = { kind: 'slow_down' }
        return { ...device, askedMs: clock(), intervalMs: device.intervalMs + SLOWER_MS }
      } else {
        answer = { kind: 'authorization_pending' }
        return { ...device, askedMs: clock() }
      }
      return undefined
    })
    return answer
  }
}
