/* Sends a form once: the second time, a one-time link is already used, and its page replaces that of the first. */

{
  /** The response may be lost. */
  const AGAIN_MS = 10_000
  const sent = new Set()

  document.addEventListener('submit', (event) => {
    // Another script sends the form.
    if (event.defaultPrevented) return
    const form = event.target
    if (sent.has(form)) return event.preventDefault()
    sent.add(form)
    setTimeout(() => sent.delete(form), AGAIN_MS)
  })

  // The user is back, and sends it again. Not for the first load: a form can be sent before it ends.
  window.addEventListener('pageshow', ({ persisted }) => persisted && sent.clear())
}
