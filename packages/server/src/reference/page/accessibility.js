/* Corrects the markup of the renderer as it is rendered: landmarks, levels of headings, and names of fields. */

/** Attributes by selector; null removes one. */
const corrections = {
  '.information-container': { role: 'region', 'aria-label': 'About this API' },
  '.scheme-container': { role: 'region', 'aria-label': 'Server and token' },
  '.filter': { role: 'region', 'aria-label': 'Filter' },
  'h3.opblock-tag, .modal-ux h3': { 'aria-level': '2' },
  h4: { 'aria-level': '3' },
  h5: { 'aria-level': '4' },
  '#servers': { 'aria-label': 'Server' },
  'textarea.body-param__text': { 'aria-label': 'Request body' },
  '.close-modal': { 'aria-label': 'Close' },
  // Their text is the name.
  '.modal-btn': { 'aria-label': null },
  // They scroll.
  'pre.microlight': { tabindex: '0' },
  // A link in a button, which opens the operation too.
  '.opblock-summary-control a': { href: null },
}

export function makeAccessible(mount) {
  let isScheduled = false
  // Once per frame: the renderer changes the page in many steps.
  new MutationObserver(() => {
    if (!isScheduled) requestAnimationFrame(correct)
    isScheduled = true
  }).observe(mount, { childList: true, subtree: true })

  function correct() {
    isScheduled = false
    for (const [selector, attributes] of Object.entries(corrections))
      for (const element of mount.querySelectorAll(selector)) setAttributes(element, attributes)
    for (const select of mount.querySelectorAll('tr[data-param-name] select'))
      setAttributes(select, { 'aria-label': select.closest('tr').dataset.paramName })
    // Buttons that contain only an arrow are in the row of their member.
    for (const button of mount.querySelectorAll('.model-box-control'))
      if (button.textContent === '')
        setAttributes(button, { 'aria-label': button.closest('tr')?.cells[0].textContent ?? 'Members' })
  }
}

function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) element.removeAttribute(name)
    else if (element.getAttribute(name) !== value) element.setAttribute(name, value)
  }
}
