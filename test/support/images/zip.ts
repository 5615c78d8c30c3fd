import { writeZip } from '@berth/advisory-formats/archives/write-zip.ts'

/** A zip archive of files, such as a jar. */
export async function zip(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const parts: Buffer[] = []
  const entries = Object.entries(files).map(([name, content]) => ({
    name,
    content: Buffer.from(content as string),
    modifiedMs: 0,
  }))
  for await (const part of writeZip(entries)) parts.push(part)
  return Buffer.concat(parts)
}
