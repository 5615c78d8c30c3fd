import type { Context } from 'hono'
import { ApiError, Code, permissionDenied } from '../../api/errors.ts'
import { parseFormFields } from '../../api/form-fields.ts'
import { type Browser, FORM_TOKEN_FIELD, isValidFormToken } from '../sessions/browser.ts'

/** A form that a browser sent from a page it was shown. */
export interface Form {
  /** The value of a field, '' where it was not sent. */
  text(name: string): string
  /** The same without space around it. */
  trimmed(name: string): string
  /** Values of a field that may be sent several times. */
  all(name: string): readonly string[]
}

const TYPE = 'application/x-www-form-urlencoded'

/**
 * Reads the form of a POST and makes sure that it came from a page this browser was shown. Throws code 3 for what is no form of
 * ours (HTTP 415 for another content type, 413 when it is too large), and code 7 for one of another site or another browser.
 */
export async function readForm(c: Context, browser: Browser): Promise<Form> {
  const fields = await readFields(c)
  if (!isValidFormToken(browser, fields.get(FORM_TOKEN_FIELD))) {
    throw permissionDenied(
      'this form is out of date or came from elsewhere; go back, reload the page and try again',
    )
  }
  const text = (name: string) => fields.get(name) ?? ''
  return { text, trimmed: (name) => text(name).trim(), all: (name) => fields.getAll(name) }
}

/** The fields of a body, whoever sent it: for endpoints that clients call, where there is no browser. */
export async function readFields(c: Context): Promise<URLSearchParams> {
  const type = (c.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== TYPE) {
    throw new ApiError(Code.INVALID_ARGUMENT, `Invalid argument: a form must be sent as ${TYPE}`, {
      reason: 'UNSUPPORTED_MEDIA_TYPE',
      httpStatus: 415,
    })
  }
  return parseFormFields(await c.req.text())
}
