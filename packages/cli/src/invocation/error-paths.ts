import type { Invocation } from './invocation.ts'

/** Errors for people show paths; those of the API contain uids. */

const UIDS = /\b[0-9a-f]{40}(?:\/[0-9a-f]{16})*\b/g

interface ApiFailure extends Error {
  readonly status: number
  readonly fieldViolations: readonly { readonly field: string; readonly description: string }[]
}

/** Replaces uids in an error of the API by the paths of resources that the caller can see; with `-o json` they stay. */
export async function showPathsInError(
  error: unknown,
  { names, output }: Pick<Invocation, 'names' | 'output'>,
): Promise<void> {
  if (!output.isForPeople || !isApiFailure(error)) return
  const texts = [error.message, ...error.fieldViolations.map(({ description }) => description)]
  const uids = [...new Set(texts.flatMap((text) => text.match(UIDS) ?? []))]
  if (uids.length === 0) return
  try {
    await names.load({ groups: uids })
    const others = uids.filter((uid) => uid.includes('/') && names.groupPath(uid) === uid)
    if (others.length > 0) await names.load({ repos: others, roles: others, identities: others })
  } catch {
    // The error is what the user must see, with or without paths.
  }
  const replace = (text: string) => text.replaceAll(UIDS, (uid) => names.repoPath(uid))
  Object.assign(error, {
    message: replace(error.message),
    fieldViolations: error.fieldViolations.map((violation) => ({
      ...violation,
      description: replace(violation.description),
    })),
  })
}

/** A failure of a request that the server answered. */
function isApiFailure(error: unknown): error is ApiFailure {
  return error instanceof Error && error.name === 'BerthError' && (error as ApiFailure).status !== 0
}
