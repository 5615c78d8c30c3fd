/** Saves a file that the page has made. `name`: its path or name. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name.split(/[/\\:]/).at(-1) || name
  link.click()
  // The download has started when the click returns.
  URL.revokeObjectURL(url)
}
