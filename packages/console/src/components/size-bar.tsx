const FULL = 100

/** A bar that shows a size beside others; the size itself is in the text next to it. */
export function SizeBar({ value, max }: { readonly value: number; readonly max: number }) {
  const width = max <= 0 ? 0 : Math.max((value / max) * FULL, value > 0 ? 1 : 0)
  return (
    <svg className="size-bar" viewBox={`0 0 ${FULL} 6`} preserveAspectRatio="none" aria-hidden="true">
      <rect className="size-bar-back" width={FULL} height={6} />
      <rect className="size-bar-value" width={width} height={6} />
    </svg>
  )
}
