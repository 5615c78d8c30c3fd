import {
  defaultPublicationSettings,
  type PublicationSettings,
} from '@berth/advisory-formats/publishing/publication-settings.ts'

/** The settings of a publication as stored in its row. */
export interface StoredPublication extends PublicationSettings {
  /** When they last changed; 0 for never. */
  readonly updatedMs: number
}

export function serializePublication(publication: StoredPublication): string {
  return JSON.stringify(publication)
}

/** `text`: the stored JSON, or '' for the defaults. */
export function parsePublication(text: string): StoredPublication {
  return text === ''
    ? { ...defaultPublicationSettings, updatedMs: 0 }
    : (JSON.parse(text) as StoredPublication)
}
