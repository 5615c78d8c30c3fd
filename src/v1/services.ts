import type { ServiceTranslation } from '../core/call.ts'
import { groups } from './groups.ts'

/** Version 1 of the API: every service of it that this server translates. */
export const versionOne: readonly ServiceTranslation[] = [groups]
