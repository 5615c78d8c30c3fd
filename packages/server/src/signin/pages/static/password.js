/* Shows the button of each password field that shows what was typed. Without scripts, it remains hidden. */

for (const button of document.querySelectorAll('button[data-reveals]')) {
  const input = document.getElementById(button.dataset.reveals)
  const show = (visible) => {
    input.type = visible ? 'text' : 'password'
    button.firstElementChild.textContent = visible ? 'Hide' : 'Show'
  }
  button.hidden = false
  button.addEventListener('click', () => show(input.type === 'password'))
  // Browsers store the content of text fields as suggestions.
  input.form.addEventListener('submit', () => show(false))
}
