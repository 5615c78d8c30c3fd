import type { Context } from 'hono'
import { ApiError, Code, permissionDenied } from '../../api/errors.ts'
import { parseFormFields } from '../../api/form-fields.ts'
import { type Browser, FORM_TOKEN_FIELD, isValidFormToken } from '../sessions/browser.ts'

/** A form that a browser sent from one of our pages. */
export interface Form {
  /** The value of a field; '' if it was not sent. */
  text(name: string): string
  /** The same without surrounding whitespace. */
  trimmed(name: string): string
  /** All values of a field that can be repeated. */
  all(name: string): readonly string[]
}

const TYPE = 'application/x-www-form-urlencoded'

/**
 * Reads the form of a POST and checks that it was sent from a page that this browser received. Throws code 3 for an invalid form (HTTP 415
 * for another content type, 413 if it is too large), and code 7 for a form of another site or another browser.
 */
export async function readForm(c: Context, browser: Browser): Promise<Form> {
  const fields = await readFields(c)
  if (!isValidFormToken(browser, fields.get(FORM_TOKEN_FIELD))) {
    throw permissionDenied(
      'this form has expired or was sent from another site. Go back, reload the page and try again',
    )
  }
  const text = (name: string) => fields.get(name) ?? ''
  return { text, trimmed: (name) => text(name).trim(), all: (name) => fields.getAll(name) }
}

/** Reads the fields of a body without checking its origin: for endpoints that clients call. */
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
