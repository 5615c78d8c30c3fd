import { type Answer, errorAnswer, headersOf } from './error-answers.ts'
import type { Operation } from './operations.ts'
import type { Schema } from './schemas.ts'

/** What the server answers besides the methods of its services: by path, each with GET. None of it is in the schema. */

export const otherTag = {
  name: 'Server',
  description: 'What tools read of the server itself. None of it needs a token.',
}

const text = { type: 'string' } as const
const words = { type: 'array', items: text } as const

function json(description: string, schema: Schema): Answer {
  return { description, content: { 'application/json': { schema } } }
}

function document(
  operationId: string,
  summary: string,
  answer: Answer,
  responses: Operation['responses'] = {},
): Operation {
  return {
    operationId,
    tags: [otherTag.name],
    summary,
    responses: { 200: { headers: headersOf(), ...answer }, ...responses },
    security: [],
  }
}

function discovered(schema: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties: schema, required: Object.keys(schema), additionalProperties: false }
}

/** One key (RFC 7517), of either kind that a signing key has. */
const jwk: Schema = {
  type: 'object',
  properties: { kty: text, kid: text, use: text, alg: text },
  required: ['kty', 'kid'],
}

export const otherDocuments: Readonly<Record<string, Operation>> = {
  '/healthz': document('GetHealth', 'Tells that the process answers', {
    description: 'It does.',
    content: { 'text/plain': { schema: text, example: 'ok\n' } },
  }),
  '/readyz': document(
    'GetReadiness',
    'Tells whether requests may be sent here: the server is not stopping, and its database answers',
    {
      description:
        'They may. A line after `ok` names each disk that is full and each store that refuses writes.',
      content: { 'text/plain': { schema: text, example: 'ok\n' } },
    },
    { 503: errorAnswer(503) },
  ),
  '/metrics': document('GetMetrics', 'Measurements in the text format of Prometheus', {
    description: 'The measurements.',
    content: { 'text/plain': { schema: text } },
  }),
  '/.well-known/openid-configuration': document(
    'GetOpenIdConfiguration',
    'The token service as an OpenID provider (OpenID Connect Discovery)',
    json(
      'The configuration.',
      discovered({
        issuer: text,
        jwks_uri: text,
        authorization_endpoint: text,
        token_endpoint: text,
        device_authorization_endpoint: text,
        revocation_endpoint: text,
        response_types_supported: words,
        response_modes_supported: words,
        grant_types_supported: words,
        code_challenge_methods_supported: words,
        token_endpoint_auth_methods_supported: words,
        revocation_endpoint_auth_methods_supported: words,
        authorization_response_iss_parameter_supported: { type: 'boolean' },
        subject_types_supported: words,
        id_token_signing_alg_values_supported: words,
        scopes_supported: words,
        claims_supported: words,
      }),
    ),
  ),
  '/.well-known/jwks.json': document(
    'GetKeys',
    'The keys that the tokens of this installation are signed with (RFC 7517)',
    json('The keys.', discovered({ keys: { type: 'array', items: jwk } })),
  ),
  '/openapi.json': document(
    'GetOpenApi',
    'This description, as OpenAPI 3.1',
    json('It.', { type: 'object' }),
  ),
  '/docs': document('GetReferencePages', 'This description as pages for people', {
    description: 'The page.',
    content: { 'text/html': { schema: text } },
  }),
}
