/**
 * Frees the memory of bytes that nothing reads any more, unless they share it, as chunks of HTTP/2 do. Without this, the memory of uploads is
 * free only when V8 collects all garbage, which it then does after every few megabytes: a quarter of the CPU time of a push.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > 0 && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
