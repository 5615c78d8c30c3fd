import { ociError } from './errors.ts'

/** The operation that a path of the OCI API addresses. */
export type Route = { readonly kind: 'base' | 'catalog' } | RepoRoute

export type RepoRoute =
  | { readonly kind: 'tags' | 'uploads'; readonly name: string }
  | {
      readonly kind: 'manifest' | 'blob' | 'upload' | 'referrers'
      readonly name: string
      /** A tag, a digest, or the id of an upload. */
      readonly reference: string
    }

/** Path templates for the access log and traces. */
export const routeTemplates: Readonly<Record<Route['kind'], string>> = {
  base: '/v2/',
  catalog: '/v2/_catalog',
  tags: '/v2/{name}/tags/list',
  uploads: '/v2/{name}/blobs/uploads/',
  upload: '/v2/{name}/blobs/uploads/{reference}',
  manifest: '/v2/{name}/manifests/{reference}',
  blob: '/v2/{name}/blobs/{digest}',
  referrers: '/v2/{name}/referrers/{digest}',
}

/** `path` starts with `/v2`. A repository name may contain words of the API, so the end of the path decides. */
export function parseRoute(path: string): Route {
  if (path === '/v2' || path === '/v2/') return { kind: 'base' }
  if (path === '/v2/_catalog') return { kind: 'catalog' }
  const [, tagged] = /^\/v2\/(.+)\/tags\/list$/.exec(path) ?? []
  if (tagged !== undefined) return { kind: 'tags', name: tagged }
  const [, uploading, id = ''] = /^\/v2\/(.+)\/blobs\/uploads(?:\/([^/]*))?$/.exec(path) ?? []
  if (uploading !== undefined)
    return id === ''
      ? { kind: 'uploads', name: uploading }
      : { kind: 'upload', name: uploading, reference: decodeComponent(id) }
  const [, name, word, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs|referrers)\/([^/]+)$/.exec(path) ?? []
  if (name === undefined) throw ociError('UNSUPPORTED', 'unknown path', { status: 404 })
  const kind = word === 'manifests' ? 'manifest' : word === 'blobs' ? 'blob' : 'referrers'
  return { kind, name, reference: decodeComponent(reference) }
}

function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw ociError('UNSUPPORTED', 'the path has a malformed percent escape', { status: 404 })
  }
}
