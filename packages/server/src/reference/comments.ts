import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { DescEnum, DescField, DescMessage, DescMethod, DescOneof, DescService } from '@bufbuild/protobuf'

/** The comments of the schema, paragraphs separated by an empty line; '' for an element without a comment. */
export interface Comments {
  of(desc: DescService | DescMethod | DescMessage | DescField | DescOneof | DescEnum): string
  ofValue(value: DescEnum['values'][number]): string
}

/** Reads packages/contract/gen/comments.json, which `npm run generate` writes beside the generated code. */
export function readComments(): Comments {
  const path = fileURLToPath(import.meta.resolve('@berth/contract/gen/comments.json'))
  const byName: Readonly<Record<string, string>> = {
    ...commentsOfOthers,
    ...JSON.parse(readFileSync(path, 'utf8')),
  }
  return {
    of: (desc) =>
      joinLines(byName['typeName' in desc ? desc.typeName : `${desc.parent.typeName}.${desc.name}`]),
    ofValue: (value) => joinLines(byName[`${value.parent.typeName}.${value.name}`]),
  }
}

/** Messages of Google that the schema uses, whose files have comments for other uses. */
const commentsOfOthers: Readonly<Record<string, string>> = {
  'google.type.Date': 'Day of the calendar, in UTC.',
  'google.type.Date.year': 'Year, from 1970 to 9999.',
  'google.type.Date.month': 'Month, from 1 to 12.',
  'google.type.Date.day': 'Day of the month, from 1 to 31.',
}

/** Joins the lines of each paragraph: their line breaks have no meaning. */
function joinLines(text = ''): string {
  return text.replace(/(?<!\n)\n(?!\n)/g, ' ')
}
