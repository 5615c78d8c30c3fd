import { queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'

/** Signatures of images, as the verifiers of their folders verify them. */

export const signaturesQuery = (repo: string, digest: string) =>
  queryOptions({
    queryKey: ['signatures', repo, digest],
    queryFn: ({ signal }) => api.signatures.getImageSignatures({ uid: repo, reference: digest }, { signal }),
  })
