import { html } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import { type Browser, FORM_TOKEN_FIELD } from '../sessions/browser.ts'
import { assetPath } from './assets.ts'

/** The layout of every page of the sign-in, and the elements of its forms. */

/** HTML of `hono/html`, which escapes interpolated text. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>

/** Scripts run in this order, after the page is parsed. */
export type Script = 'webauthn.js' | 'passkey.js' | 'fragment-code.js'

export interface PageOptions {
  /** Title of the window; the page has its own heading. */
  readonly title: string
  /** If its user is signed in, the page links to the account and has a sign-out button. */
  readonly browser?: Browser | undefined
  /** Scripts that the page loads, beside the one of every page. */
  readonly scripts?: readonly Script[]
  /** For pages with lists and tables. */
  readonly wide?: boolean
}

export function page({ title, browser, scripts = [], wide = false }: PageOptions, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} – Berth</title>
<link rel="stylesheet" href="${assetPath('berth.css')}">
<link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml">
<script defer src="${assetPath('send-once.js')}"></script>
${scripts.map((name) => html`<script defer src="${assetPath(name)}"></script>\n`)}</head>
<body${wide ? html` class="wide"` : ''}>
<header>
<a class="wordmark" href="/"><img src="${assetPath('icon.svg')}" alt="">Berth</a>
${browser?.session === undefined ? '' : signedInLinks(browser)}</header>
<main>
${body}
</main>
</body>
</html>
`
}

function signedInLinks(browser: Browser): Html {
  return html`<nav aria-label="Account">
<a href="/account">Account</a>
<a href="/docs">API reference</a>
<form method="post" action="/sign-out">${formToken(browser)}<button class="link">Sign out</button></form>
</nav>
`
}

/** The hidden field with the form token, which `readForm` requires. */
export function formToken({ formToken }: Pick<Browser, 'formToken'>): Html {
  return html`<input type="hidden" name="${FORM_TOKEN_FIELD}" value="${formToken}">`
}

/** Why a form was rejected. */
export interface FormProblem {
  /** A sentence for the user. */
  readonly text: string
  /** Id of the field in error; undefined if the problem is not about one field. */
  readonly field?: string
  /** What the user typed in this field, to correct it. Never a password. */
  readonly value?: string
}

/** Returns the problem of a field; undefined without a text. */
export function problemOf(field: string, text: string | undefined): FormProblem | undefined {
  return text === undefined ? undefined : { field, text }
}

/** An error message above a form, announced by screen readers. Empty for undefined, and for a problem that its field shows. */
export function alert(problem: string | FormProblem | undefined): Html {
  if (problem === undefined) return html``
  if (typeof problem === 'string') return html`<p class="alert" role="alert">${problem}</p>\n`
  return problem.field === undefined ? alert(problem.text) : html``
}

/** A success message. Empty for undefined. */
export function notice(message: string | undefined): Html {
  return message === undefined ? html`` : html`<p class="notice" role="status">${message}</p>\n`
}

export interface InputField {
  readonly name: string
  /** Default: the name. Must be set if a page has two fields of this name. */
  readonly id?: string
  readonly label: string
  readonly type?: 'text' | 'email' | 'password'
  /** Token of the HTML autofill vocabulary, for password managers. */
  readonly autocomplete: string
  readonly value?: string
  readonly hint?: string
  readonly autofocus?: boolean
  readonly optional?: boolean
  readonly readonly?: boolean
  /** Whether `fragment-code.js` fills the field with the code in the address of the page, and sends its form. */
  readonly fromFragment?: boolean
  readonly maxlength?: number
  readonly minlength?: number
  readonly inputmode?: string
  /** Why the form was rejected. The field in error is marked and focused, and shows the reason. */
  readonly problem?: FormProblem | undefined
}

/** A labeled input with its hint; the password of a password field can be shown. */
export function field(input: InputField): Html {
  const { name, id = name, label, type = 'text', autocomplete, hint, problem } = input
  const isInError = problem?.field === id
  const value = (isInError ? problem.value : undefined) ?? input.value ?? ''
  const hasFocus = problem?.field === undefined ? input.autofocus : isInError
  const descriptions = [isInError ? `${id}-error` : '', hint === undefined ? '' : `${id}-hint`].filter(
    Boolean,
  )
  const element = html`<input id="${id}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${value}"
${input.optional ? '' : 'required'} ${hasFocus ? 'autofocus' : ''}
${input.readonly ? 'readonly' : ''} ${input.fromFragment ? 'data-from-fragment' : ''}
${input.maxlength === undefined ? '' : html`maxlength="${input.maxlength}"`}
${input.minlength === undefined ? '' : html`minlength="${input.minlength}"`}
${input.inputmode === undefined ? '' : html`inputmode="${input.inputmode}"`}
${type === 'text' ? html`` : html`autocapitalize="none" spellcheck="false"`}
${isInError ? html`aria-invalid="true"` : ''}
${descriptions.length === 0 ? '' : html`aria-describedby="${descriptions.join(' ')}"`}>`
  return html`<div class="field">
<label for="${id}">${label}</label>
${type === 'password' ? revealable(id, label, element) : element}
${isInError ? html`<p class="error" id="${id}-error">${problem.text}</p>` : ''}
${hint === undefined ? '' : html`<p class="hint" id="${id}-hint">${hint}</p>`}
</div>
`
}

/** The field for the code of a link: `fragment-code.js` fills it from the address, or the user pastes it. */
export function fragmentCodeField(label: string, maxlength: number, problem: string | undefined): Html {
  return field({
    name: 'code',
    label,
    autocomplete: 'off',
    hint: 'Paste the whole link, or the part after #.',
    maxlength,
    fromFragment: true,
    autofocus: true,
    problem: problemOf('code', problem),
  })
}

/** Adds the button that shows a password. A page runs the script once, even if several fields load it. */
function revealable(id: string, label: string, element: Html): Html {
  return html`<div class="revealable">
${element}
<button type="button" class="reveal" data-reveals="${id}" hidden><span>Show</span><span class="unseen"> ${label.toLowerCase()}</span></button>
</div>
<script type="module" src="${assetPath('password.js')}"></script>`
}
