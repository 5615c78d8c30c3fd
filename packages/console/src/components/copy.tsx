import { Check, Copy as CopyIcon } from 'lucide-react'
import { useState } from 'react'
import { Button } from 'react-aria-components'

/** Texts to copy: uids, digests, commands. */

const CONFIRMED_MS = 2000

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  const copy = () => {
    const show = (next: 'copied' | 'failed') => {
      setState(next)
      setTimeout(() => setState('idle'), CONFIRMED_MS)
    }
    // Browsers have no clipboard for plain http addresses.
    if (navigator.clipboard === undefined) show('failed')
    else
      navigator.clipboard.writeText(text).then(
        () => show('copied'),
        () => show('failed'),
      )
  }
  return (
    <>
      <Button className="icon-button" aria-label={`Copy ${label}`} onPress={copy}>
        {state === 'copied' ? <Check aria-hidden size={16} /> : <CopyIcon aria-hidden size={16} />}
      </Button>
      <span role="status" className={state === 'failed' ? 'muted' : 'unseen'}>
        {state === 'copied' && 'Copied'}
        {state === 'failed' && 'Select the text to copy it'}
      </span>
    </>
  )
}

/** Options, whose hyphens are no place to break a line. */
const OPTIONS = /((?<=\s)--?[a-z][a-z-]*)/

/** A command line with a copy button. */
export function Command({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="command">
      <code>
        {text.split(OPTIONS).map((part, at) =>
          at % 2 === 0 ? (
            part
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text
            <span key={at} className="flag">
              {part}
            </span>
          ),
        )}
      </code>
      <CopyButton text={text} label={label} />
    </div>
  )
}

/** The command that does the same as the page. */
export function Equivalent({ command }: { readonly command: string }) {
  return (
    <section className="equivalent" aria-label="Same in the command line">
      <p className="muted">Same in the command line</p>
      <Command text={command} label="the command" />
    </section>
  )
}

/** A uid or digest: shortened on narrow screens, copied as a whole. */
export function Id({ value, label }: { readonly value: string; readonly label: string }) {
  return (
    <span className="id">
      <code title={value}>{value}</code>
      <CopyButton text={value} label={label} />
    </span>
  )
}

/** Returns an order of the API as `--sort` has it. `names`: what the command calls the sort keys. */
export function sortOf(order: string, names: Readonly<Record<string, string>>): string {
  const [key = '', ...direction] = order.split(' ')
  return [names[key] ?? key, ...direction].join(' ')
}

/** Quotes an argument for a shell, if that is necessary. */
export function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`
}
