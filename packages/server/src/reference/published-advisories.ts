import { errorResponseRef, headerRefs, type ResponseObject, rateLimitHeaders } from './error-responses.ts'
import type { Operation, Parameter } from './operations.ts'
import type { Schema } from './schemas.ts'

/** The published feeds of groups, by path, each with GET. The schemas of the formats are specified elsewhere. */

export const publishedTag = {
  name: 'Published advisories',
  description:
    'The advisories of a group and of everything below it, in the formats that scanners read. Those of a public group need no token; for others the caller must be allowed to list the advisories of the group. A change is visible at the next request; `ETag` and `Last-Modified` show whether there was one.',
}

const group: Parameter = {
  name: 'group',
  in: 'path',
  required: true,
  description: 'UID of the group.',
  schema: { type: 'string' },
  example: '7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745',
}

const ifNoneMatch = { $ref: '#/components/parameters/IfNoneMatch' }

interface Feed {
  readonly id: string
  readonly summary: string
  readonly type: string
  readonly schema: Schema
  readonly parameter?: Pick<Parameter, 'name' | 'description' | 'example'>
}

function feed({ id, summary, type, schema, parameter }: Feed): Operation {
  const pathParameters: Parameter[] =
    parameter === undefined ? [] : [{ ...parameter, in: 'path', required: true, schema: { type: 'string' } }]
  const response: ResponseObject = {
    description: 'The feed.',
    headers: headerRefs('ETag', ...rateLimitHeaders),
    content: { [type]: { schema } },
  }
  return {
    operationId: id,
    tags: [publishedTag.name],
    summary,
    parameters: [group, ...pathParameters, ifNoneMatch],
    responses: {
      200: response,
      304: {
        description: 'The feed still has the version of the caller.',
        headers: headerRefs('ETag', ...rateLimitHeaders),
      },
      401: errorResponseRef(401),
      403: errorResponseRef(403),
      404: errorResponseRef(404),
      429: errorResponseRef(429),
      500: errorResponseRef(500),
      503: errorResponseRef(503),
    },
    // A token or, for a public group, none.
    security: [{ token: [] }, {}],
  }
}

const base = '/vulnerabilities/feeds/{group}'
const file: Schema = { type: 'string', format: 'binary' }
const object: Schema = { type: 'object' }

export const publishedAdvisories: Readonly<Record<string, Operation>> = {
  [`${base}/osv/all.zip`]: feed({
    id: 'GetOsvRecords',
    summary: 'All advisories as OSV records, a file each',
    type: 'application/zip',
    schema: file,
  }),
  [`${base}/osv/modified_id.csv`]: feed({
    id: 'GetOsvChanges',
    summary: 'Change time and id of each OSV record, newest first',
    type: 'text/csv',
    schema: { type: 'string' },
  }),
  [`${base}/osv/{id}.json`]: feed({
    id: 'GetOsvRecord',
    summary: 'One advisory as an OSV record',
    type: 'application/json',
    schema: object,
    parameter: { name: 'id', description: 'Id of the advisory.', example: 'CGA-2222-3333-4444' },
  }),
  [`${base}/secdb/security.json`]: feed({
    id: 'GetSecurityDatabase',
    summary: 'Fixed vulnerabilities by version of a package, as an Alpine-style security database',
    type: 'application/json',
    schema: object,
  }),
  [`${base}/openvex/index.json`]: feed({
    id: 'GetOpenVexIndex',
    summary: 'Index of the OpenVEX documents by package',
    type: 'application/json',
    schema: object,
  }),
  [`${base}/openvex/all.zip`]: feed({
    id: 'GetOpenVexDocuments',
    summary: 'All OpenVEX documents with their index',
    type: 'application/zip',
    schema: file,
  }),
  [`${base}/openvex/.well-known/vex-repository.json`]: feed({
    id: 'GetOpenVexRepository',
    summary: 'Locations of the OpenVEX documents, for tools that follow the VEX Repository Specification',
    type: 'application/json',
    schema: object,
  }),
  [`${base}/openvex/{artifact}.json`]: feed({
    id: 'GetOpenVexDocument',
    summary: 'The advisories of one artifact, as an OpenVEX document',
    type: 'application/json',
    schema: object,
    parameter: {
      name: 'artifact',
      description:
        'Name of the artifact as in the index: encoded, with a `~` before `index` and before another `~`.',
      example: 'git',
    },
  }),
}
