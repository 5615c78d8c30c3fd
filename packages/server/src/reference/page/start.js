/** Shows the description of the server that this page comes from. */

import { makeAccessible } from './accessibility.js'
import { fillExamples } from './examples.js'
import { toOpenApi30 } from './openapi-30.js'

const mount = document.getElementById('reference')

/** The renderer has both looks; which one the reader wants, the system knows. */
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()

try {
  const reply = await fetch('/openapi.json')
  if (!reply.ok) throw new Error(`/openapi.json answered ${reply.status}`)
  const spec = toOpenApi30(await reply.json())
  // Calls go where the page came from, whatever other names this server has: nothing else is allowed here.
  spec.servers = [{ url: location.origin }]
  let shown
  makeAccessible(mount)
  await fillExamples(spec, (filled) => {
    if (shown === undefined) shown = render(filled)
    else shown.specActions.updateJsonSpec(filled)
  })
} catch (error) {
  const note = document.createElement('main')
  note.className = 'berth-note'
  note.textContent = `The description cannot be shown: ${error.message}`
  mount.replaceChildren(note)
}

function render(spec) {
  return globalThis.SwaggerUIBundle({
    spec,
    domNode: mount,
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: 'none',
    filter: true,
    defaultModelsExpandDepth: 0,
    // The members of a message, with their types.
    defaultModelExpandDepth: 2,
    validatorUrl: null,
    queryConfigEnabled: false,
    // The token that a reader enters is forgotten with the page.
    persistAuthorization: false,
  })
}
