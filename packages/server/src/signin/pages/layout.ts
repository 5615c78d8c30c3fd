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
  /** Scripts that the page loads. */
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
${scripts.map((name) => html`<script defer src="${assetPath(name)}"></script>\n`)}</head>
<body${wide ? html` class="wide"` : ''}>
<header>
<span class="wordmark">Berth</span>
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
<form method="post" action="/sign-out">${formToken(browser)}<button class="link">Sign out</button></form>
</nav>
`
}

/** The hidden field with the form token, which `readForm` requires. */
export function formToken({ formToken }: Pick<Browser, 'formToken'>): Html {
  return html`<input type="hidden" name="${FORM_TOKEN_FIELD}" value="${formToken}">`
}

/** An error message above a form, announced by screen readers. Empty for undefined. */
export function alert(message: string | undefined): Html {
  return message === undefined ? html`` : html`<p class="alert" role="alert">${message}</p>\n`
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
}

/** A labeled input with its hint. */
export function field(input: InputField): Html {
  const { name, id = name, label, type = 'text', autocomplete, value = '', hint } = input
  const hintId = `${id}-hint`
  return html`<div class="field">
<label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${value}"
${input.optional ? '' : 'required'} ${input.autofocus ? 'autofocus' : ''}
${input.readonly ? 'readonly' : ''} ${input.fromFragment ? 'data-from-fragment' : ''}
${input.maxlength === undefined ? '' : html`maxlength="${input.maxlength}"`}
${input.minlength === undefined ? '' : html`minlength="${input.minlength}"`}
${input.inputmode === undefined ? '' : html`inputmode="${input.inputmode}"`}
${type === 'text' ? html`` : html`autocapitalize="none" spellcheck="false"`}
${hint === undefined ? '' : html`aria-describedby="${hintId}"`}>
${hint === undefined ? '' : html`<p class="hint" id="${hintId}">${hint}</p>`}
</div>
`
}
