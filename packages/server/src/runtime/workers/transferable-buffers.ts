/** The memory behind `bytes` if it holds nothing else: another thread can get it instead of a copy. Otherwise an empty list. */
export function transferableBuffers({ buffer, length }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === length ? [buffer] : []
}
