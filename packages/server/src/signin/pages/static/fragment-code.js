/* Moves the code after # in the address of the page into its form, and sends the form. The code never reaches a log or another site. */

{
  const field = document.querySelector('input[data-from-fragment]')

  function submitCode() {
    const code = location.hash.slice(1)
    if (code === '') return
    history.replaceState(null, '', location.pathname)
    field.value = code
    field.form.requestSubmit()
  }

  // The second event: a link that is opened on the page itself.
  submitCode()
  window.addEventListener('hashchange', submitCode)
}
