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
  const byName: Readonly<Record<string, string>> = JSON.parse(readFileSync(path, 'utf8'))
  return {
    of: (desc) =>
      joinLines(byName['typeName' in desc ? desc.typeName : `${desc.parent.typeName}.${desc.name}`]),
    ofValue: (value) => joinLines(byName[`${value.parent.typeName}.${value.name}`]),
  }
}

/** Joins the lines of each paragraph: their line breaks have no meaning. */
function joinLines(text = ''): string {
  return text.replace(/(?<!\n)\n(?!\n)/g, ' ')
}
