/* Runs in a page: what WCAG 2.2 level AA would not let pass, as far as it can be computed. */
;(() => {
  const found = []
  if (document.documentElement.lang === '') found.push('no language')
  if (document.querySelectorAll('h1').length !== 1) found.push('not one h1')
  if (document.querySelectorAll('main').length !== 1) found.push('not one main')
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id)
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`two elements are ${id}`)
  for (const input of document.querySelectorAll('input:not([type="hidden"], [hidden])')) {
    if (input.labels?.length !== 1) found.push(`${input.name} has no label`)
    if (!input.hasAttribute('autocomplete')) found.push(`${input.name} has no autocomplete`)
  }
  for (const element of document.querySelectorAll('details')) element.open = true
  for (const element of document.querySelectorAll('[hidden]'))
    if (element.getClientRects().length > 0) found.push(`${element.tagName} is hidden and shows`)
  for (const button of document.querySelectorAll('button, a'))
    if (button.textContent?.trim() === '') found.push('a button without words')

  const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = (color) => {
    const [r = 0, g = 0, b = 0] = channels(color).map((value) => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const groundOf = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      const [, , , alpha = 1] = channels(backgroundColor)
      if (alpha === 1) return backgroundColor
    }
    return 'rgb(255, 255, 255)'
  }
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x)
    return (light + 0.05) / (dark + 0.05)
  }
  for (const element of document.querySelectorAll('body *')) {
    const words = [...element.childNodes].some(
      (node) => node.nodeType === 3 && node.textContent?.trim() !== '',
    )
    if (!words || element.getClientRects().length === 0) continue
    const ratio = contrast(getComputedStyle(element).color, groundOf(element))
    if (ratio < 4.5)
      found.push(`"${element.textContent?.trim().slice(0, 20)}" has a contrast of ${ratio.toFixed(1)}`)
  }
  for (const input of document.querySelectorAll('input:not([type="hidden"], [hidden])')) {
    if (input.getClientRects().length === 0) continue
    const ratio = contrast(getComputedStyle(input).borderTopColor, groundOf(input.parentElement))
    if (ratio < 3) found.push(`the edge of an input has a contrast of ${ratio.toFixed(1)}`)
  }
  return found
})()
