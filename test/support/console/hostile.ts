/** Texts that someone could choose to mislead or attack who reads them. The console shows them as they are. */

/** Runs a script wherever it is taken for markup or for a template. */
export const MARKUP = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'&lt;{{7*7}}`

/** What `MARKUP` has set in the page, if it ran. */
export const HACKED = 'window.hacked'

/** Reads as another extension: what follows the override is drawn from right to left. */
export const OVERRIDE = 'abc\u202etxt.exe'

/** A word of 60 characters, as names have at most in practice, without a place to break it. */
export const LONG = 'geschwindigkeitsbegrenzungsverordnung'.repeat(2).slice(0, 60)

/** More than fits into a cell or a dialog. */
export const VERY_LONG = 'x'.repeat(10_000)
