import type { DescEnum } from '@bufbuild/protobuf'
import { invalidArgument } from '../../api/errors.ts'
import type { Conversion } from './message-mapping.ts'

/**
 * Maps the values of an enum that has other numbers in the newer schema, by their names without the prefix of the newer names. An unknown
 * number is rejected for `field`, since it could mean another value in the newer enum.
 */
export function enumMapping(old: DescEnum, next: DescEnum, field: string): Conversion {
  const prefix = `${next.values[0]?.name.replace(/UNSPECIFIED$/, '')}`
  const toNew = new Map<unknown, number>()
  const toOld = new Map<unknown, number>()
  for (const { name, number } of old.values) {
    const newName = prefix + (number === 0 ? 'UNSPECIFIED' : name)
    const counterpart = next.values.find((value) => value.name === newName)
    if (counterpart === undefined) throw new Error(`${next} has no ${newName}`)
    toNew.set(number, counterpart.number)
    toOld.set(counterpart.number, number)
  }
  return {
    toV2(value) {
      const number = toNew.get(value)
      if (number === undefined) throw invalidArgument(field, `${value} is not a value of ${old.name}`)
      return number
    },
    toV1: (value) => toOld.get(value) ?? 0,
  }
}
