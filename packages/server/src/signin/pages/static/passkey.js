/* Asks the browser for a passkey when a form needs one, and sends the response with the form. */

{
  const { browserSupportsWebAuthn, startAuthentication, startRegistration } = globalThis.SimpleWebAuthnBrowser

  const unavailable = 'The passkey could not be used. Try again.'

  async function requestPasskey(form) {
    const sent = await fetch(`${form.action}/options`, {
      method: 'POST',
      body: new URLSearchParams(new FormData(form)),
      headers: { accept: 'application/json' },
    })
    const body = sent.headers.get('content-type')?.startsWith('application/json') ? await sent.json() : {}
    if (!sent.ok) throw new Error(body.problem ?? unavailable)
    const ask = form.dataset.passkey === 'create' ? startRegistration : startAuthentication
    try {
      return await ask({ optionsJSON: body })
    } catch (error) {
      throw new Error(
        error.name === 'InvalidStateError'
          ? 'This device already has a passkey for your account.'
          : unavailable,
        { cause: error },
      )
    }
  }

  if (browserSupportsWebAuthn()) {
    for (const form of document.querySelectorAll('form[data-passkey]')) {
      form.hidden = false
      const problem = form.querySelector('[role="alert"]')
      const button = form.querySelector('button')
      form.addEventListener('submit', async (event) => {
        event.preventDefault()
        problem.hidden = true
        button.disabled = true
        try {
          form.elements.answer.value = JSON.stringify(await requestPasskey(form))
          form.submit()
        } catch (error) {
          problem.textContent = error.message
          problem.hidden = false
          button.disabled = false
        }
      })
    }
  }
}
