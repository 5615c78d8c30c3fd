/** The announced end of version 1 in its responses: no headers, unless the operator has configured it. */
export interface Deprecation {
  /** When it became, or becomes, deprecated. */
  readonly atMs: number
  /** When it may stop responding. */
  readonly sunsetMs: number | undefined
  /** The page that describes how to migrate. */
  readonly migrationUrl: string | undefined
}

/** The headers, which gRPC has as metadata: Deprecation (RFC 9745), Sunset (RFC 8594) and Link (RFC 8288). */
export function deprecationHeaders({
  atMs,
  sunsetMs,
  migrationUrl,
}: Deprecation): Readonly<Record<string, string>> {
  return {
    deprecation: `@${Math.floor(atMs / 1000)}`,
    ...(sunsetMs !== undefined && { sunset: new Date(sunsetMs).toUTCString() }),
    ...(migrationUrl !== undefined && { link: `<${migrationUrl}>; rel="deprecation"` }),
  }
}
