/**
 * Frees the memory of bytes that are not read again, unless they share it, as some chunks of HTTP/2 do. Otherwise the memory of uploads is freed
 * only when V8 collects all garbage, which it then does after every few megabytes: a quarter of the CPU time of a push.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > 0 && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
