import { html } from 'hono/html'
import { normalizeEmail } from '../../api/fields.ts'
import { limits } from '../../config/limits.ts'
import type { Form } from '../pages/form.ts'
import { type FormProblem, field, type Html, problemOf } from '../pages/layout.ts'
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
  readonly problem: FormProblem | undefined
}

export function newAccountFields({ name, email, fixedEmail = false, problem }: NewAccountFields): Html {
  return html`${field({
    name: 'name',
    label: 'Your name',
    autocomplete: 'name',
    value: name,
    maxlength: limits.accountNameCharsMax,
    autofocus: name === '',
    problem,
  })}${field({
    name: 'email',
    label: 'Email',
    type: 'email',
    autocomplete: 'username',
    value: email,
    maxlength: limits.emailCharsMax,
    readonly: fixedEmail,
    problem,
  })}${newPasswordField({ autofocus: name !== '', problem })}`
}

export function newPasswordField({
  label = 'Password',
  autofocus = false,
  problem,
}: {
  readonly label?: string
  readonly autofocus?: boolean
  readonly problem: FormProblem | undefined
}): Html {
  return field({
    name: 'password',
    label,
    type: 'password',
    autocomplete: 'new-password',
    hint: `At least ${limits.passwordCharsMin} characters. Longer is stronger.`,
    minlength: limits.passwordCharsMin,
    autofocus,
    problem,
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

/** Returns what the user has to change; undefined if the form is valid. `organizations`: names of those that the user joins. */
export async function checkNewAccountForm(
  account: NewAccountForm,
  organizations: readonly string[],
): Promise<FormProblem | undefined> {
  const violation = checkAccount(account)
  if (violation !== undefined) {
    const { field, description } = violation
    return { field, text: `${labels[field] ?? field} ${description}.` }
  }
  return checkNewPassword(account.password, { ...account, organizations })
}

/** Returns why a password cannot be used, as a problem of the field that `newPasswordField` renders. */
export async function checkNewPassword(
  ...password: Parameters<typeof checkPasswordPolicy>
): Promise<FormProblem | undefined> {
  return problemOf('password', await checkPasswordPolicy(...password))
}
