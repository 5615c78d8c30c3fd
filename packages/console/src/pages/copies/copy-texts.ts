import { formatNumber, plural } from '../../components/quantity.tsx'
import type { CopyOutcome } from './copy-run.ts'

/** What a copy copies: a single image may have no tag. */
export const countText = (items: number): string => (items === 1 ? '1 image' : plural(items, 'tag'))

/** How much of a copy succeeded: "2 of 3 tags copied". */
export const copiedText = ({ copied, failed, left }: CopyOutcome): string =>
  `${formatNumber(copied.length)} of ${countText(copied.length + failed.length + left.length)} copied`
