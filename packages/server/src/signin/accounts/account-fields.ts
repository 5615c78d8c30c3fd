import { html } from 'hono/html'
import { normalizeEmail } from '../../api/fields.ts'
import { limits } from '../../config/limits.ts'
import type { Form } from '../pages/form.ts'
import { field, type Html } from '../pages/layout.ts'
import { checkPasswordPolicy } from '../passwords/password.ts'
import { checkAccount } from './accounts.ts'

/** The fields in which somebody says who they are to be here, and what they must be. */

export interface NewAccountForm {
  readonly name: string
  /** In the form in which it is stored. */
  readonly email: string
  readonly password: string
}

export function newAccountFields({ name, email }: { readonly name: string; readonly email: string }): Html {
  return html`${field({
    name: 'name',
    label: 'Your name',
    autocomplete: 'name',
    value: name,
    maxlength: limits.accountNameCharsMax,
    autofocus: name === '',
  })}${field({
    name: 'email',
    label: 'E-mail',
    type: 'email',
    autocomplete: 'username',
    value: email,
    maxlength: limits.emailCharsMax,
  })}${newPasswordField({ autofocus: name !== '' })}`
}

export function newPasswordField({ label = 'Password', autofocus = false } = {}): Html {
  return field({
    name: 'password',
    label,
    type: 'password',
    autocomplete: 'new-password',
    hint: `At least ${limits.passwordCharsMin} characters. Length is what counts.`,
    minlength: limits.passwordCharsMin,
    autofocus,
  })
}

/** Tells password managers whose password a form is about. */
export function usernameField(email: string): Html {
  return html`<input type="text" name="username" autocomplete="username" value="${email}" readonly hidden>`
}

export function readNewAccountForm(form: Form): NewAccountForm {
  return {
    name: form.trimmed('name'),
    email: normalizeEmail(form.trimmed('email')),
    password: form.text('password'),
  }
}

const labels: Readonly<Record<string, string>> = { email: 'The e-mail address', name: 'Your name' }

/** Returns what the user has to change, as text; undefined if nothing is wrong. `organizations`: names of those that the person joins. */
export async function checkNewAccountForm(
  person: NewAccountForm,
  organizations: readonly string[],
): Promise<string | undefined> {
  const wrong = checkAccount(person)
  if (wrong !== undefined) return `${labels[wrong.field] ?? wrong.field} ${wrong.description}.`
  return checkPasswordPolicy(person.password, { ...person, organizations })
}
