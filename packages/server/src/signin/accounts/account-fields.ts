import { html } from 'hono/html'
import { normalizeEmail } from '../../api/fields.ts'
import { limits } from '../../config/limits.ts'
import type { Form } from '../pages/form.ts'
import { field, type Html } from '../pages/layout.ts'
import { checkPasswordPolicy } from '../passwords/password.ts'
import { checkAccount } from './accounts.ts'

/** Form fields of a new account, and their validation. */

export interface NewAccountForm {
  readonly name: string
  /** Normalized, as it is stored. */
  readonly email: string
  readonly password: string
}

export interface NewAccountFields {
  readonly name: string
  readonly email: string
  /** Whether the user cannot change the address. */
  readonly fixedEmail?: boolean
}

export function newAccountFields({ name, email, fixedEmail = false }: NewAccountFields): Html {
  return html`${field({
    name: 'name',
    label: 'Your name',
    autocomplete: 'name',
    value: name,
    maxlength: limits.accountNameCharsMax,
    autofocus: name === '',
  })}${field({
    name: 'email',
    label: 'Email',
    type: 'email',
    autocomplete: 'username',
    value: email,
    maxlength: limits.emailCharsMax,
    readonly: fixedEmail,
  })}${newPasswordField({ autofocus: name !== '' })}`
}

export function newPasswordField({ label = 'Password', autofocus = false } = {}): Html {
  return field({
    name: 'password',
    label,
    type: 'password',
    autocomplete: 'new-password',
    hint: `At least ${limits.passwordCharsMin} characters. Longer is stronger.`,
    minlength: limits.passwordCharsMin,
    autofocus,
  })
}

/** Tells password managers which account a password form is for. */
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

const labels: Readonly<Record<string, string>> = { email: 'The email address', name: 'Your name' }

/** Returns what the user has to change, as text; undefined if the form is valid. `organizations`: names of those that the user joins. */
export async function checkNewAccountForm(
  account: NewAccountForm,
  organizations: readonly string[],
): Promise<string | undefined> {
  const violation = checkAccount(account)
  if (violation !== undefined)
    return `${labels[violation.field] ?? violation.field} ${violation.description}.`
  return checkPasswordPolicy(account.password, { ...account, organizations })
}
