/** What a test of standstills shares with its server (`standstill-server.ts`). */

export const RESETS_PER_SECOND = 20

export interface StandstillServerUrls {
  readonly plain: string
  readonly tls: string
}
