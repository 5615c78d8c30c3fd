import { defaultSettings, type PublicationSettings } from './settings.ts'

/** The settings of a publication as a row keeps them. */
export interface StoredPublication extends PublicationSettings {
  /** When somebody changed them last; 0: nobody did. */
  readonly updatedMs: number
}

export function storedText(publication: StoredPublication): string {
  return JSON.stringify(publication)
}

/** `text`: as storedText wrote it, or '' for what nobody changed. */
export function readStored(text: string): StoredPublication {
  return text === '' ? { ...defaultSettings, updatedMs: 0 } : (JSON.parse(text) as StoredPublication)
}
