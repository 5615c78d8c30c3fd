import type { Descriptor, Platform } from './descriptors.ts'

/** Platforms in the form `linux/arm64` or `linux/arm/v7`. Pure. */

export function parsePlatform(text: string): Platform | undefined {
  const [, os, architecture, variant] = /^([a-z0-9]+)\/([a-z0-9_]+)(?:\/([a-z0-9.]+))?$/.exec(text) ?? []
  if (os === undefined || architecture === undefined) return undefined
  return { os, architecture, ...(variant !== undefined && { variant }) }
}

export function formatPlatform({ os, architecture, variant }: Platform): string {
  return [os, architecture, variant ?? ''].filter((part) => part !== '').join('/')
}

/** Returns the manifest for exactly the platform, or else the first compatible one. */
export function selectPlatform(manifests: readonly Descriptor[], wanted: Platform): Descriptor | undefined {
  const fitting = manifests.filter(
    ({ platform }) =>
      platform?.os === wanted.os &&
      platform.architecture === wanted.architecture &&
      (wanted.variant === undefined || variantOf(platform) === variantOf(wanted)),
  )
  return fitting.find(({ platform }) => platform?.variant === wanted.variant) ?? fitting[0]
}

/** arm64 has one variant, which is usually omitted. */
function variantOf({ architecture, variant = '' }: Platform): string {
  return architecture === 'arm64' && variant === 'v8' ? '' : variant
}
