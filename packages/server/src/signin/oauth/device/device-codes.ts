import { limits } from '../../../config/limits.ts'
import { generateSecret, pendingStore } from '../../../storage/pending-store.ts'
import type { Store } from '../../../storage/store.ts'
import type { SessionClientInfo } from '../../../tokens/sessions/sessions.ts'
import type { AuthorizationGrant } from '../authorization-grants.ts'
import { newUserCode } from './user-code.ts'

/**
 * Devices that wait for authorization (RFC 8628): the device polls with a secret device code, the user enters the short user code. The
 * decision can be fetched once.
 */

/** What a device requests, and from where, for the user to compare. */
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
  /** Smallest interval between two polls; grows with each poll that is too early. */
  readonly intervalMs: number
  readonly askedMs: number
  readonly decision: { readonly grant: AuthorizationGrant | undefined } | undefined
}

/** Errors of RFC 8628 section 3.5, and `unknown` for an unknown or used code. */
export type DevicePollResult =
  | { readonly kind: 'granted'; readonly grant: AuthorizationGrant }
  | {
      readonly kind: 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' | 'unknown'
    }

export interface DeviceCodes {
  issue(request: DeviceRequest): Promise<{ readonly deviceCode: string; readonly userCode: string }>
  /** The device that waits with this user code; undefined if there is none. */
  findWaiting(userCode: string): Promise<WaitingDevice | undefined>
  /** Authorizes the device, or denies it with `undefined`. False if it no longer waits. */
  decide(userCode: string, grant: AuthorizationGrant | undefined): Promise<boolean>
  /** A poll of the device. */
  poll(deviceCode: string, client: string): Promise<DevicePollResult>
}

const SLOW_DOWN_MS = 5000
const ATTEMPTS_MAX = 5

export function deviceCodes(store: Pick<Store, 'db' | 'clock' | 'secretsKey'>): DeviceCodes {
  const { db, clock } = store
  // Stored for longer than a code is valid, so that the device gets `expired_token`.
  const devices = pendingStore<StoredDevice>(store, 'device', 2 * limits.deviceCodeMs)
  const byUserCode = pendingStore<string>(store, 'device_user_code', limits.deviceCodeMs)

  /** Retries if the random code is in use. */
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
      const result = await pollOnce(deviceCode, client)
      if (result.kind !== 'granted') return result
      // Of several concurrent polls one gets the grant.
      return (await devices.consume(deviceCode)) === undefined ? { kind: 'unknown' } : result
    },
  }

  async function pollOnce(deviceCode: string, client: string): Promise<DevicePollResult> {
    let result: DevicePollResult = { kind: 'unknown' }
    await devices.update(deviceCode, (device) => {
      // The code of another client counts as unknown.
      if (device.client !== client) return undefined
      const { decision } = device
      if (decision?.grant !== undefined && device.expiresMs > clock()) {
        result = { kind: 'granted', grant: decision.grant }
        return undefined
      }
      if (device.expiresMs <= clock()) result = { kind: 'expired_token' }
      else if (decision !== undefined) result = { kind: 'access_denied' }
      else if (clock() - device.askedMs < device.intervalMs) {
        result = { kind: 'slow_down' }
        return { ...device, askedMs: clock(), intervalMs: device.intervalMs + SLOW_DOWN_MS }
      } else {
        result = { kind: 'authorization_pending' }
        return { ...device, askedMs: clock() }
      }
      return undefined
    })
    return result
  }
}
