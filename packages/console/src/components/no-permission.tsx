/** In the place of what the user cannot see: the reason, which names the missing capability. */
export function NoPermission({ label, reason }: { readonly label: string; readonly reason: string }) {
  return (
    <div className="empty">
      <p>You have no permission to see {label.toLowerCase()} here.</p>
      <p className="muted">{reason}</p>
    </div>
  )
}
