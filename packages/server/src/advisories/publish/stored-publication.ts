import {
  defaultPublicationSettings,
  type PublicationSettings,
} from '@berth/advisory-formats/publishing/publication-settings.ts'

/** The settings of a publication as a row keeps them. */
export interface StoredPublication extends PublicationSettings {
  /** When somebody changed them last; 0: nobody did. */
  readonly updatedMs: number
}

export function serializePublication(publication: StoredPublication): string {
  return JSON.stringify(publication)
}

/** `text`: as storedText wrote it, or '' for what nobody changed. */
export function parsePublication(text: string): StoredPublication {
  return text === ''
    ? { ...defaultPublicationSettings, updatedMs: 0 }
    : (JSON.parse(text) as StoredPublication)
}
