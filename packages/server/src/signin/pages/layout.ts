import { html } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import { type Browser, FORM_TOKEN_FIELD } from '../sessions/browser.ts'
import { assetPath } from './assets.ts'

/** The frame of every page of the sign-in, and the pieces that its forms are made of. */

/** What `hono/html` makes: text put into it is escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>

/** Run in this order, when the page has been read. */
export type Script = 'webauthn.js' | 'passkey.js'

export interface PageOptions {
  /** Of the window; the page has its own heading. */
  readonly title: string
  /** Whose page it is: somebody who is signed in gets the way to their account and out of it. */
  readonly browser?: Browser | undefined
  /** Our own scripts that the page loads. */
  readonly scripts?: readonly Script[]
  /** More than a form: lists and tables. */
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

/** What every form that changes something carries; `readForm` asks for it. */
export function formToken({ formToken }: Pick<Browser, 'formToken'>): Html {
  return html`<input type="hidden" name="${FORM_TOKEN_FIELD}" value="${formToken}">`
}

/** What went wrong, above a form; read out by screen readers. Nothing for undefined. */
export function alert(message: string | undefined): Html {
  return message === undefined ? html`` : html`<p class="alert" role="alert">${message}</p>\n`
}

/** What went well. */
export function notice(message: string | undefined): Html {
  return message === undefined ? html`` : html`<p class="notice" role="status">${message}</p>\n`
}

export interface InputField {
  readonly name: string
  /** Default: the name. Must be another one where a page has the name twice. */
  readonly id?: string
  readonly label: string
  readonly type?: 'text' | 'email' | 'password'
  /** Token of the HTML autofill vocabulary, which password managers go by. */
  readonly autocomplete: string
  readonly value?: string
  readonly hint?: string
  readonly autofocus?: boolean
  readonly optional?: boolean
  readonly maxlength?: number
  readonly minlength?: number
  readonly inputmode?: string
}

/** A labelled input with its hint. */
export function field(input: InputField): Html {
  const { name, id = name, label, type = 'text', autocomplete, value = '', hint } = input
  const hintId = `${id}-hint`
  return html`<div class="field">
<label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${value}"
${input.optional ? '' : 'required'} ${input.autofocus ? 'autofocus' : ''}
${input.maxlength === undefined ? '' : html`maxlength="${input.maxlength}"`}
${input.minlength === undefined ? '' : html`minlength="${input.minlength}"`}
${input.inputmode === undefined ? '' : html`inputmode="${input.inputmode}"`}
${type === 'text' ? html`` : html`autocapitalize="none" spellcheck="false"`}
${hint === undefined ? '' : html`aria-describedby="${hintId}"`}>
${hint === undefined ? '' : html`<p class="hint" id="${hintId}">${hint}</p>`}
</div>
`
}
