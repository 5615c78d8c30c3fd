/** The color scheme that the user chose in this browser. */

export const colorSchemes = ['system', 'light', 'dark'] as const
export type ColorScheme = (typeof colorSchemes)[number]

const KEY = 'berth-color-scheme'

export function storedColorScheme(): ColorScheme {
  const stored = localStorage.getItem(KEY)
  return colorSchemes.find((name) => name === stored) ?? 'system'
}

export function applyColorScheme(scheme: ColorScheme): void {
  if (scheme === 'system') {
    localStorage.removeItem(KEY)
    delete document.documentElement.dataset['scheme']
  } else {
    localStorage.setItem(KEY, scheme)
    document.documentElement.dataset['scheme'] = scheme
  }
}
