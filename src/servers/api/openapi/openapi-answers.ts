/**
 * The answers of routes in the OpenAPI document: successful ones as the routes describe them, refusals
 * by their codes. A refusal that several routes share is one component.
 */
import { z } from 'zod'
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { keysOf } from '../../../base/platform/records.js'
import { type ErrorCode, statusOfCode } from '../http/error-answer.js'
import { type HeaderName, headerFields } from '../http/output/header-fields.js'
import type { DocumentedAnswer } from '../http/route/documented-route.js'
import { isOpenArea, type Route } from '../http/route/route.js'
import { buildErrorExample } from './error-examples.js'
import { exampleOf } from './example.js'
import { toPascalCase } from './openapi-schemas.js'

/** Codes of every route, for another method and our own faults. */
const commonCodes: readonly ErrorCode[] = ['method_not_allowed', 'internal_server_error', 'service_unavailable']
const keyCodes: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'api_key_expired',
  'insufficient_permissions',
]
const sessionCodes: readonly ErrorCode[] = ['authentication_required', 'insufficient_permissions']
const bodyCodes: readonly ErrorCode[] = [
  'invalid_json',
  'validation_error',
  'missing_required_field',
  'payload_too_large',
  'unsupported_media_type',
]
const uploadCodes: readonly ErrorCode[] = ['validation_error', 'missing_required_field', 'unsupported_media_type']

const fieldError = z.object({
  field: z.string().meta({ description: 'Such as `to[2]`; empty: the complete body.' }),
  message: z.string().meta({ description: 'The rule, for people.' }),
  value: z.union([z.string(), z.number(), z.boolean(), z.null()]).meta({ description: 'The given value, shortened.' }),
})

const errorCode = z.enum(keysOf(statusOfCode))

/** The body of every error. */
const errorBody = z
  .object({
    error: z.object({
      code: errorCode.meta({ id: 'ErrorCode', description: 'For programs. Later versions may add codes.' }),
      message: z.string().meta({ description: 'For people.' }),
      status: z.int().meta({ description: 'The HTTP status.' }),
      details: z
        .looseObject({ errors: z.array(fieldError).optional(), retry_after: z.int().optional() })
        .optional()
        .meta({ description: 'Depends on the code: fields at fault, the id that was not found, a limit.' }),
      retry_after: z.int().optional().meta({ description: 'Seconds; with status 429.' }),
    }),
  })
  .meta({ id: 'Error' })

const commonHeaders: readonly HeaderName[] = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

function headerRefs(headers: readonly HeaderName[] = []): NonNullable<ZodOpenApiResponseObject['headers']> {
  const names = [...commonHeaders, ...headers]
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The successful answers of a route, by status. */
export function goodAnswersOf(route: Route): ZodOpenApiResponsesObject {
  return Object.fromEntries(Object.entries(route.answers).map(([status, answer]) => [status, successResponse(answer)]))
}

/** The refusals of a route, by status. */
export function refusedAnswersOf(route: Route): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    refusalGroupsOf(route).map(({ status, codes }) => [
      status,
      { $ref: `#/components/responses/${refusalNameOf(codes)}` },
    ]),
  )
}

/** The refusals of all routes, by their names. */
export function refusalResponses(routes: readonly Route[]): Readonly<Record<string, ZodOpenApiResponseObject>> {
  return Object.fromEntries(
    routes.flatMap(refusalGroupsOf).map(({ codes }) => [refusalNameOf(codes), refusalResponse(codes)]),
  )
}

function successResponse({ description, schema, type, example, headers }: DocumentedAnswer): ZodOpenApiResponseObject {
  const about = { description, headers: headerRefs(headers) }
  if (schema !== undefined) {
    const value = example ?? exampleOf(schema).value
    return { ...about, content: { 'application/json': { schema, ...(value === undefined ? {} : { example: value }) } } }
  }
  if (type === undefined) return about
  const isPlain = type.startsWith('text/') || type === '*/*'
  const text = { type: 'string', ...(isPlain ? {} : { contentMediaType: type }) } as const
  return { ...about, content: { [type]: { schema: text, ...(example === undefined ? {} : { example }) } } }
}

/** The header fields of all answers of these routes. */
export function headersOf(routes: readonly Route[]): Partial<typeof headerFields> {
  const answered = routes.flatMap(({ answers }) => Object.values(answers).flatMap(({ headers = [] }) => headers))
  const names = new Set<string>([...commonHeaders, 'Allow', 'Retry-After', ...answered])
  return Object.fromEntries(Object.entries(headerFields).filter(([name]) => names.has(name)))
}

interface RefusalGroup {
  readonly status: string
  readonly codes: readonly ErrorCode[]
}

/** One group for each status, with its codes. */
function refusalGroupsOf(route: Route): readonly RefusalGroup[] {
  const codes = codesOf(route)
  const statuses = [...new Set(codes.map((code) => statusOfCode[code]))].sort()
  return statuses.map((status) => ({
    status: String(status),
    codes: codes.filter((code) => statusOfCode[code] === status).sort(),
  }))
}

function refusalNameOf(codes: readonly ErrorCode[]): string {
  return codes.map(toPascalCase).join('Or')
}

function refusalResponse(codes: readonly ErrorCode[]): ZodOpenApiResponseObject {
  const status = statusOfCode[codes[0] ?? 'internal_server_error']
  const headers: readonly HeaderName[] =
    status === 405 ? ['Allow'] : status === 429 || status === 503 ? ['Retry-After'] : []
  const examples = Object.fromEntries(codes.map((code) => [code, { value: buildErrorExample(code) }]))
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    headers: headerRefs(headers),
    content: { 'application/json': { schema: errorBody, examples } },
  }
}

/** Every code that a route may answer. */
function codesOf(route: Route): readonly ErrorCode[] {
  const { refusals, query, area } = route
  if (area === 'tracking') return [...commonCodes, ...refusals]
  const ofInput = bodyCodesOf(route) ?? (query !== null ? ['validation_error'] : [])
  return [
    ...new Set([...callerCodesOf(route), 'rate_limit_exceeded' as const, ...commonCodes, ...ofInput, ...refusals]),
  ]
}

function callerCodesOf(route: Route): readonly ErrorCode[] {
  if (route.area === 'sign-in') return ['insufficient_permissions']
  if (route.area === 'session' || route.area === 'operator') return sessionCodes
  return isOpenArea(route.area) ? [] : keyCodes
}

function bodyCodesOf(route: Route): readonly ErrorCode[] | null {
  if (route.file !== null) return uploadCodes
  return route.body === null ? null : bodyCodes
}
