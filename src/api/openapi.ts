/**
 * The OpenAPI 3.1 document, made from the routes and the very schemas that validate, so
 * that it cannot drift from what the door does.
 *
 * A request's schema is shown as what may be sent (`input`), an answer's as what comes.
 */
import { z } from 'zod'
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi'
import { type ErrorCode, statusOfCode } from './answer.js'
import { type Documented, isForAll, type Route } from './route.js'

/** What any route may answer beside its own codes: the pace, our own faults. */
const everywhere: readonly ErrorCode[] = ['rate_limit_exceeded', 'internal_server_error', 'service_unavailable']
const withKey: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'api_key_expired',
  'insufficient_permissions',
]
const withBody: readonly ErrorCode[] = [
  'invalid_json',
  'validation_error',
  'missing_required_field',
  'payload_too_large',
  'unsupported_media_type',
]

const withFile: readonly ErrorCode[] = ['validation_error', 'missing_required_field', 'unsupported_media_type']

const fieldError = z.object({
  field: z.string().meta({ description: 'Such as `to[2]`; empty: the body as a whole.' }),
  message: z.string(),
  value: z.union([z.string(), z.number(), z.boolean(), z.null()]).meta({ description: 'As it was given, shortened.' }),
})

const errorBody = z
  .object({
    error: z.object({
      code: z.string(),
      message: z.string(),
      status: z.int(),
      details: z
        .looseObject({ errors: z.array(fieldError).optional(), retry_after: z.int().optional() })
        .optional()
        .meta({ description: 'What the code needs: fields at fault, the id that was not found, a limit.' }),
      retry_after: z.int().optional().meta({ description: 'Seconds; with status 429.' }),
    }),
  })
  .meta({ id: 'Error' })

export interface About {
  readonly version: string
  /** Where the API answers; examples name it. */
  readonly server: string
}

export function openApiDocument(routes: readonly Route[], { version, server }: About): object {
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Posthorn',
      version,
      description: 'Sends and receives mail. The same paths answer under `/v1`, under `/api/v1` and without a prefix.',
    },
    servers: [{ url: server }],
    security: [{ key: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: pathsOf(routes),
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, `ph_…`.' } },
    },
  })
}

function pathsOf(routes: readonly Route[]): ZodOpenApiPathsObject {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {}
  for (const route of routes) {
    const path = `/v1${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return paths
}

function operation(route: Route): ZodOpenApiOperationObject {
  const { tag, summary, description } = route
  return {
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    operationId: operationId(route),
    requestParams: parameters(route),
    ...requestBody(route),
    ...(isForAll(route) ? { security: [] } : {}),
    responses: { ...answers(route), ...refusals(route) },
  }
}

function requestBody(route: Route): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  if (route.body !== null)
    return { requestBody: { required: true, content: { 'application/json': { schema: route.body } } } }
  if (!('receive' in route)) return {}
  const file = {
    type: 'string',
    contentMediaType: 'application/octet-stream',
    description: route.fileDescription,
  } as const
  const properties = { file }
  const schema = { type: 'object' as const, required: ['file'], properties, additionalProperties: false }
  return { requestBody: { required: true, content: { 'multipart/form-data': { schema } } } }
}

/** `POST /emails/:id/cancel` is `post_emails_id_cancel`. */
function operationId({ method, path }: Route): string {
  return `${method.toLowerCase()}${path.replace(/[^a-z0-9]+/gi, '_')}`
}

function parameters({ path, query, headers }: Route): NonNullable<ZodOpenApiOperationObject['requestParams']> {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  return {
    ...(names.length === 0 ? {} : { path: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) }),
    ...(query instanceof z.ZodObject ? { query } : {}),
    ...(headers === undefined ? {} : { header: headers }),
  }
}

function answers({ answers: documented }: Route): ZodOpenApiOperationObject['responses'] {
  return Object.fromEntries(Object.entries(documented).map(([status, answer]) => [status, response(answer)]))
}

function response({ description, schema, type }: Documented): { description: string } {
  if (type !== undefined) {
    const bytes = { type: 'string', contentMediaType: type } as const
    return { description, ...{ content: { [type]: { schema: bytes } } } }
  }
  return schema === undefined ? { description } : { description, ...{ content: { 'application/json': { schema } } } }
}

/** One entry a status, with the codes that it may bear. */
function refusals(route: Route): ZodOpenApiOperationObject['responses'] {
  const codes = codesOf(route)
  const statuses = [...new Set(codes.map((code) => statusOfCode[code]))].sort()
  const entries = statuses.map((status) => {
    const own = codes.filter((code) => statusOfCode[code] === status)
    const description = own.map((code) => `\`${code}\``).join(', ')
    return [String(status), { description, content: { 'application/json': { schema: errorBody } } }] as const
  })
  return Object.fromEntries(entries)
}

/** Every code that a route may answer. */
function codesOf(route: Route): readonly ErrorCode[] {
  const { refusals: own, query } = route
  const ofInput = hasBody(route) ?? (query !== null ? ['validation_error'] : [])
  return [...new Set([...(isForAll(route) ? [] : withKey), ...everywhere, ...ofInput, ...own])]
}

function hasBody(route: Route): readonly ErrorCode[] | null {
  if ('receive' in route) return withFile
  return route.body === null ? null : withBody
}
