import {
  type CapabilitySet,
  capabilitySetOf,
  intersect,
  noCapabilities,
  operatorCapabilities,
} from '@berth/contract/capabilities.ts'
import { iam, iam_scope } from '@berth/contract/gen/annotations/auth_pb.js'
import { getOption } from '@berth/contract/options.ts'
import type { DescField, DescMessage, DescMethod, Message } from '@bufbuild/protobuf'
import { invalidArgument } from '../api/errors.ts'
import { parseUid, type Uid } from '../api/uid.ts'
import {
  type Authorization,
  authorizePlatform,
  authorizeScope,
  authorizeVisible,
  type Grants,
  requireCapabilitiesAnywhere,
} from './authorization.ts'
import type { Caller } from './call.ts'

/** Who may call a method, read from its options in the schema. */
export type AccessRule =
  | { readonly kind: 'open' }
  | { readonly kind: 'unscoped'; readonly capabilities: CapabilitySet }
  /** For operators: the capabilities on the platform. */
  | { readonly kind: 'platform'; readonly capabilities: CapabilitySet }
  | {
      readonly kind: 'scoped'
      readonly capabilities: CapabilitySet
      /** Field names from the request to the uid, e.g. `group`, `uid`. */
      readonly path: readonly string[]
    }

/** Reads a method's rule. Throws for a method whose options do not say who may call it: the server must not start. */
export function accessRuleOf(method: DescMethod): AccessRule {
  const { mode } = getOption(method, iam)
  if (mode.case === 'disabled') return { kind: 'open' }
  if (mode.case === undefined) throw new Error(`${method} does not say who may call it`)
  const capabilities = capabilitySetOf(mode.value.capabilities)
  const isForOperators = intersect(capabilities, operatorCapabilities) !== noCapabilities
  if (mode.value.unscoped) return { kind: isForOperators ? 'platform' : 'unscoped', capabilities }
  const path = scopePath(method.input)
  if (path === undefined)
    throw new Error(`${method} is scoped, but no field of its request is marked as the scope`)
  if (capabilities === 0n) throw new Error(`${method} is scoped, but asks for no capability`)
  return { kind: 'scoped', capabilities, path }
}

/** The marked field; when that is a resource, the marked field inside it. */
function scopePath(message: DescMessage): string[] | undefined {
  const field = message.fields.find((candidate: DescField) => getOption(candidate, iam_scope))
  if (field === undefined) return undefined
  if (field.message === undefined) return [field.localName]
  const rest = scopePath(field.message)
  return rest === undefined ? undefined : [field.localName, ...rest]
}

/**
 * Decides as far as the headers of a request allow, before its body is read: returns the authorization that `authorize` would, or
 * undefined if the message names the scope. Throws code 7 unless the caller holds the capabilities of a scoped method at `pathScope` or,
 * if the path has no scope, anywhere. A path without a well-formed uid in the place of the scope is left to `authorize`.
 */
export function authorizeHeaders(
  rule: AccessRule,
  pathScope: string | undefined,
  caller: Caller,
  grants: Grants,
): Authorization | undefined {
  if (rule.kind !== 'scoped') return authorizeWithoutScope(rule, caller, grants)
  const scope = pathScope === undefined ? undefined : parseUid(pathScope)
  if (scope !== undefined) return authorizeScope(caller, grants, scope, rule.capabilities)
  requireCapabilitiesAnywhere(grants, rule.capabilities)
  return undefined
}

/**
 * Decides before anything is looked up (AIP-211): code 7 if the caller holds the capabilities neither at the scope nor at a group above
 * it, whether the scope exists or not. A scope that is not a uid is code 3, which discloses nothing either.
 */
export function authorize(rule: AccessRule, request: Message, caller: Caller, grants: Grants): Authorization {
  return rule.kind === 'scoped'
    ? authorizeScope(caller, grants, scopeOf(request, rule.path), rule.capabilities)
    : authorizeWithoutScope(rule, caller, grants)
}

function authorizeWithoutScope(
  rule: Exclude<AccessRule, { kind: 'scoped' }>,
  caller: Caller,
  grants: Grants,
): Authorization {
  switch (rule.kind) {
    case 'open':
      return { caller, grants, authorized: undefined, visible: undefined }
    case 'platform':
      return authorizePlatform(caller, grants, rule.capabilities)
    case 'unscoped':
      return authorizeVisible(caller, grants, rule.capabilities)
  }
}

/** Returns the uid that a call is authorized at, if its request has a well-formed one. */
export function requestedScope(rule: AccessRule, request: Message): Uid | undefined {
  return rule.kind === 'scoped' ? parseUid(textAt(request, rule.path)) : undefined
}

function textAt(request: Message, path: readonly string[]): string {
  let value: unknown = request
  for (const name of path) value = (value as Record<string, unknown> | undefined)?.[name]
  return typeof value === 'string' ? value : ''
}

function scopeOf(request: Message, path: readonly string[]): string {
  const text = textAt(request, path)
  const uid = parseUid(text)
  if (uid === undefined) {
    const field = path.at(-1) ?? ''
    throw invalidArgument(
      field,
      text === '' ? 'is required' : 'must be a uid: 40 hex digits, then segments of /16 hex digits',
    )
  }
  return uid
}
