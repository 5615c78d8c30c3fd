import { Link } from '@tanstack/react-router'
import { CopyButton } from './copy.tsx'

const SHOWN_CHARACTERS = 12

/** Returns a digest as users compare it: its algorithm and first characters. */
export function shortDigest(digest: string): string {
  const [algorithm = '', hash = ''] = digest.split(':')
  return `${algorithm}:${hash.slice(0, SHOWN_CHARACTERS)}`
}

interface DigestProps {
  /** uid of the repository. */
  readonly repo: string
  readonly digest: string
  /** What has the digest: "the tag latest". */
  readonly object: string
}

/** A digest that leads to its manifest, copied as a whole. */
export function Digest({ repo, digest, object }: DigestProps) {
  if (digest === '') return <span className="muted">none</span>
  return (
    <span className="id">
      <Link to="/manifests/$" params={{ _splat: `${repo}/${digest}` }} title={digest}>
        <code>{shortDigest(digest)}</code>
      </Link>
      <CopyButton text={digest} label={`the digest of ${object}`} />
    </span>
  )
}
