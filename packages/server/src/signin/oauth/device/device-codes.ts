import { limits } from '../../../config/limits.ts'
import { generateSecret, pendingStore } from '../../../storage/pending-store.ts'
import type { Store } from '../../../storage/store.ts'
import type { SessionClientInfo } from '../../../tokens/sessions/sessions.ts'
import type { AuthorizationGrant } from '../authorization-grants.ts'
import { newUserCode } from './user-code.ts'

/**
 * Devices that wait for a person to let them in (RFC 8628): the device holds a secret code with which it asks again and again,
 * the person types the short one. What was decided is fetched once.
 */

/** What the device wants, and where it asked from: the person compares. */
export interface DeviceRequest extends SessionClientInfo {
  readonly client: string
  readonly audiences: readonly string[]
  readonly idToken: boolean
}

export interface WaitingDevice extends DeviceRequest {
  readonly userCode: string
  readonly startedMs: number
}

interface StoredDevice extends WaitingDevice {
  readonly expiresMs: number
  /** Least time between two questions; grows with each that comes too soon. */
  readonly intervalMs: number
  readonly askedMs: number
  readonly decision: { readonly grant: AuthorizationGrant | undefined } | undefined
}

/** Errors of RFC 8628 section 3.5, and `unknown` for a code that is none, or was used. */
export type DevicePollResult =
  | { readonly kind: 'granted'; readonly grant: AuthorizationGrant }
  | {
      readonly kind: 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' | 'unknown'
    }

export interface DeviceCodes {
  issue(request: DeviceRequest): Promise<{ readonly deviceCode: string; readonly userCode: string }>
  /** The device that waits under this code; undefined when none does any more. */
  findWaiting(userCode: string): Promise<WaitingDevice | undefined>
  /** Lets it in, or with `undefined` not. False when it does not wait any more. */
  decide(userCode: string, grant: AuthorizationGrant | undefined): Promise<boolean>
  /** The device asks. */
  poll(deviceCode: string, client: string): Promise<DevicePollResult>
}

const SLOW_DOWN_MS = 5000
const ATTEMPTS_MAX = 5

export function deviceCodes(store: Pick<Store, 'db' | 'clock' | 'secretsKey'>): DeviceCodes {
  const { db, clock } = store
  // Remembered for longer than they hold, so that a device hears that it came too late.
  const devices = pendingStore<StoredDevice>(store, 'device', 2 * limits.deviceCodeMs)
  const byUserCode = pendingStore<string>(store, 'device_user_code', limits.deviceCodeMs)

  /** Chance may give two devices one code: the second takes another. */
  const newCode = async (deviceCode: string, attempts = ATTEMPTS_MAX): Promise<string> => {
    try {
      return await byUserCode.add(deviceCode, newUserCode())
    } catch (error) {
      if (attempts === 1 || !db.rules.isUniqueViolation(error)) throw error
      return newCode(deviceCode, attempts - 1)
    }
  }
  const isWaiting = ({ decision, expiresMs }: StoredDevice) => decision === undefined && expiresMs > clock()

  return {
    async issue(request) {
      const deviceCode = generateSecret()
      const userCode = await newCode(deviceCode)
      const startedMs = clock()
      await devices.add(
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

    async findWaiting(userCode) {
      const deviceCode = await byUserCode.read(userCode)
      const device = deviceCode === undefined ? undefined : await devices.read(deviceCode)
      return device !== undefined && isWaiting(device) ? device : undefined
    },

    async decide(userCode, grant) {
      const deviceCode = await byUserCode.consume(userCode)
      if (deviceCode === undefined) return false
      return devices.update(deviceCode, (device) =>
        isWaiting(device) ? { ...device, decision: { grant } } : undefined,
      )
    },

    async poll(deviceCode, client) {
      const answer = await pollOnce(deviceCode, client)
      if (answer.kind !== 'granted') return answer
      // Of many who ask at once, one gets it.
      return (await devices.consume(deviceCode)) === undefined ? { kind: 'unknown' } : answer
    },
  }

  async function pollOnce(deviceCode: string, client: string): Promise<DevicePollResult> {
    let answer: DevicePollResult = { kind: 'unknown' }
    await devices.update(deviceCode, (device) => {
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
        return { ...device, askedMs: clock(), intervalMs: device.intervalMs + SLOW_DOWN_MS }
      } else {
        answer = { kind: 'authorization_pending' }
        return { ...device, askedMs: clock() }
      }
      return undefined
    })
    return answer
  }
}
