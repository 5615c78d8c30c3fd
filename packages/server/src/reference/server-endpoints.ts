import { errorResponseRef, headerRefs, type ResponseObject } from './error-responses.ts'
import type { Operation } from './operations.ts'
import type { Schema } from './schemas.ts'

/** The endpoints of the server besides the methods of its services: by path, each with GET. None of them is in the schema. */

export const serverTag = {
  name: 'Server',
  description: 'Endpoints of the server itself for tools. None of them requires a token.',
}

const text = { type: 'string' } as const
const textList = { type: 'array', items: text } as const

function json(description: string, schema: Schema): ResponseObject {
  return { description, content: { 'application/json': { schema } } }
}

function endpoint(
  operationId: string,
  summary: string,
  response: ResponseObject,
  responses: Operation['responses'] = {},
): Operation {
  return {
    operationId,
    tags: [serverTag.name],
    summary,
    responses: { 200: { headers: headerRefs(), ...response }, ...responses },
    security: [],
  }
}

function closedObject(schema: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties: schema, required: Object.keys(schema), additionalProperties: false }
}

/** One key (RFC 7517), of either type of signing key. */
const jwk: Schema = {
  type: 'object',
  properties: { kty: text, kid: text, use: text, alg: text },
  required: ['kty', 'kid'],
}

export const serverEndpoints: Readonly<Record<string, Operation>> = {
  '/healthz': endpoint('GetHealth', 'Reports that the process responds', {
    description: 'It responds.',
    content: { 'text/plain': { schema: text, example: 'ok\n' } },
  }),
  '/readyz': endpoint(
    'GetReadiness',
    'Reports readiness: the server is not stopping, and its database responds',
    {
      description: 'Ready. A line after `ok` names each full disk and each store that rejects writes.',
      content: { 'text/plain': { schema: text, example: 'ok\n' } },
    },
    { 503: errorResponseRef(503) },
  ),
  '/metrics': endpoint('GetMetrics', 'Metrics in the text format of Prometheus', {
    description: 'The metrics.',
    content: { 'text/plain': { schema: text } },
  }),
  '/.well-known/openid-configuration': endpoint(
    'GetOpenIdConfiguration',
    'The token service as an OpenID provider (OpenID Connect Discovery)',
    json(
      'The configuration.',
      closedObject({
        issuer: text,
        jwks_uri: text,
        authorization_endpoint: text,
        token_endpoint: text,
        device_authorization_endpoint: text,
        revocation_endpoint: text,
        response_types_supported: textList,
        response_modes_supported: textList,
        grant_types_supported: textList,
        code_challenge_methods_supported: textList,
        token_endpoint_auth_methods_supported: textList,
        revocation_endpoint_auth_methods_supported: textList,
        authorization_response_iss_parameter_supported: { type: 'boolean' },
        subject_types_supported: textList,
        id_token_signing_alg_values_supported: textList,
        scopes_supported: textList,
        claims_supported: textList,
      }),
    ),
  ),
  '/.well-known/jwks.json': endpoint(
    'GetKeys',
    'The keys that the tokens of this installation are signed with (RFC 7517)',
    json('The keys.', closedObject({ keys: { type: 'array', items: jwk } })),
  ),
  '/openapi.json': endpoint(
    'GetOpenApi',
    'This description, as OpenAPI 3.1',
    json('The feed.', { type: 'object' }),
  ),
  '/docs': endpoint('GetReferencePages', 'This description as web pages', {
    description: 'The page.',
    content: { 'text/html': { schema: text } },
  }),
}
