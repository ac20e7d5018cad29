/**
 * The OpenAPI 3.1 document, made from the routes and the schemas that validate requests, so that it
 * cannot differ from what the API does. Requests have the input form of their schemas, answers the
 * output form.
 */
import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi'
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import { describeEvent, eventTypes } from '../../../records/events/payloads.js'
import { eventId, pascalCaseOf, payloadSchemas } from '../events/event-schemas.js'
import { linkQuery } from '../http/input/link-signature.js'
import { timestamp, uuid } from '../http/input/values.js'
import type { CompatibleService } from '../http/route/compatible-service.js'
import { isOpenArea, type Route } from '../http/route/route.js'
import { exampleOf } from './example.js'
import { goodAnswersOf, headersOf, refusalResponses, refusedAnswersOf } from './openapi-answers.js'
import { toRequestBody } from './openapi-bodies.js'
import { documentSchema, nameBodies, operationIdOf } from './openapi-schemas.js'

interface ApiInfo {
  readonly version: string
  /** The base URL of the API. */
  readonly server: string
}

/** The API, or the routes of people in a browser, with the scheme by which each authenticates. */
const kinds = {
  api: {
    prefix: '/v1',
    title: 'Posthorn',
    scheme: { key: { type: 'http', scheme: 'bearer', description: 'An API key, `ph_…`.' } },
  },
  browser: {
    prefix: '/ui/api',
    title: 'Posthorn in a browser',
    scheme: {
      session: { type: 'apiKey', in: 'cookie', name: '__Host-posthorn', description: 'The cookie of a session.' },
    },
  },
} as const

const API_DESCRIPTION = [
  'Sends and receives mail. The same paths answer under `/v1`, under `/api/v1` and without a prefix.',
  'In a request an optional field that is null or an empty list counts as absent, unless its schema accepts that value.',
  'Answers may have more fields in later versions.',
].join(' ')

const descriptions = {
  api: API_DESCRIPTION,
  browser:
    'What pages need of people: sign-in, their own account, and pages of the operator. Everything else is the API, ' +
    'under `/ui/api/v1` with the same cookie and `X-Workspace-Id`. For the pages of this version only.',
} as const

/** Descriptions by tag. A tag that is not here has none in the document. */
const tagDescriptions: Readonly<Record<string, string>> = {
  Exports: 'Records of the workspace as CSV files.',
  'API keys': 'Keys of the workspace: the secret of requests, and the password of SMTP.',
  Emails: 'Mail that is sent now, later, or in batches, and its delivery.',
  Contacts: 'People to write to, with names and metadata.',
  Audiences: 'Lists of contacts.',
  Breakers: 'Bounces and complaints of the workspace, and what is held because of them. `id` is that of the list.',
  Broadcasts: 'One message to all subscribed contacts of an audience, with values of each.',
  Templates: 'Subjects and bodies with variables.',
  Files: 'Files that are stored once and sent many times.',
  Domains: 'Domains that send and receive mail, with their DNS records.',
  Events: 'What happened to emails, domains and verification codes: a log, and what webhooks send.',
  Suppressions: 'Addresses that no mail is sent to.',
  Imports: 'Imports of long CSV files.',
  Tracking: 'What the pixel and the links of a tracked email lead to.',
  'Inbound email': 'Received mail, its attachments, and replies to it.',
  Webhooks: 'Endpoints to which events are delivered, and the deliveries.',
  Workspaces: 'The owners of domains, keys and mail.',
  Members: 'The people of a workspace, and their roles.',
  Invitations: 'Pending invitations to a workspace.',
  Metrics: 'Numbers of emails, opens and clicks.',
  Usage: 'What is used of the plan.',
  'Audit log': 'Administrative acts.',
  Operator: "For owners and admins of the operator's workspace: all workspaces, the queue, the service.",
  Session: 'Signing in and out, and sessions.',
  'Own account': 'Password and second factor.',
  Overview: 'What the first page of a workspace shows.',
  'Message views': 'HTML of messages for a sandboxed frame.',
  'SMS verification': 'Codes that are sent to a phone, and checked.',
  Unsubscribing: 'Links by which the recipients of mail unsubscribe.',
}

/** The document of the API. */
export function buildOpenApiDocument(routes: readonly Route[], info: ApiInfo): object {
  return buildDocument(routes, info, 'api')
}

/** The document of the routes under `/ui/api` that are not those of the API. */
export function buildBrowserDocument(routes: readonly Route[], info: ApiInfo): object {
  return buildDocument(routes, info, 'browser')
}

/** The document of a hosted service whose clients are served. Its paths are not below a version. */
export function buildServiceDocument(service: CompatibleService, { version, server }: ApiInfo): object {
  const { title, routes, keyScheme, errorSchema } = service
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        ...{ title: `Posthorn for clients of ${title}`, version, license: { name: 'MIT', identifier: 'MIT' } },
        description: `The part of the interface of ${title} that is served. What is ignored or differs stands in docs/coming-from.md.`,
      },
      servers: [{ url: server }],
      security: [{ key: [] }],
      tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
      paths: pathsOf(routes, '', () => ({
        default: { description: 'An error.', content: { 'application/json': { schema: errorSchema } } },
      })),
      components: { headers: headersOf(routes), securitySchemes: { key: keyScheme } },
    },
    { override: documentSchema },
  )
  nameBodies(document)
  return document
}

function buildDocument(routes: readonly Route[], { version, server }: ApiInfo, kind: keyof typeof kinds): object {
  const { prefix, title, scheme } = kinds[kind]
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: { title, version, description: descriptions[kind], license: { name: 'MIT', identifier: 'MIT' } },
      servers: [{ url: server }],
      security: [Object.fromEntries(Object.keys(scheme).map((name) => [name, []]))],
      tags: [...new Set(routes.map(({ tag }) => tag))].map(toTag),
      paths: pathsOf(routes, prefix),
      ...(kind === 'api' ? { webhooks: describeWebhooks() } : {}),
      components: {
        responses: refusalResponses(routes),
        headers: headersOf(routes),
        securitySchemes: scheme,
      },
    },
    { override: documentSchema },
  )
  nameBodies(document)
  return document
}

function toTag(name: string): { readonly name: string; readonly description?: string } {
  const description = tagDescriptions[name]
  return description === undefined ? { name } : { name, description }
}

function pathsOf(
  routes: readonly Route[],
  prefix: string,
  refusalsOf: (route: Route) => ZodOpenApiResponsesObject = refusedAnswersOf,
): ZodOpenApiPathsObject {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {}
  for (const route of routes) {
    const path = `${prefix}${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: toOperation(route, refusalsOf) }
  }
  return paths
}

function toOperation(route: Route, refusalsOf: (route: Route) => ZodOpenApiResponsesObject): ZodOpenApiOperationObject {
  const { tag, summary, description } = route
  return {
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    operationId: operationIdOf(route),
    requestParams: toParameters(route),
    ...toRequestBody(route),
    ...(isOpenArea(route.area) ? { security: [] } : {}),
    ...(route.byLink !== null ? { security: [{ key: [] }, {}] } : {}),
    responses: { ...goodAnswersOf(route), ...refusalsOf(route) },
  }
}

function toParameters(route: Route): NonNullable<ZodOpenApiOperationObject['requestParams']> {
  const { path, query, headers, tag, params = {} } = route
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const described: Readonly<Record<string, string>> = { id: `Id of the ${resourceNameOf(tag)}.`, ...params }
  const inPath = names.map((name) => [name, toPathParameter(described[name])] as const)
  return {
    ...(names.length === 0 ? {} : { path: z.object(Object.fromEntries(inPath)) }),
    ...(query instanceof z.ZodObject ? { query } : {}),
    ...(route.byLink !== null ? { query: linkParameters } : {}),
    ...(headers === undefined ? {} : { header: headers }),
  }
}

/** Either all are given or none. With all of them the request needs no key. */
const linkParameters = z.object(
  Object.fromEntries(
    Object.keys(linkQuery.shape).map((name) => {
      const description = 'As the link has it; absent with a key.'
      return [name, z.string().optional().meta({ description })]
    }),
  ),
)

function toPathParameter(description: string | undefined): z.ZodType {
  return description === undefined ? z.string() : z.string().meta({ description })
}

/** `API key` of `API keys`, `inbound email` of `Inbound email`. */
function resourceNameOf(tag: string): string {
  const one = tag.replace(/s$/, '')
  return /^[A-Z]{2}/.test(one) ? one : `${one.charAt(0).toLowerCase()}${one.slice(1)}`
}

const headers = z.object({
  'X-Service-Signature': z.string().meta({
    description: '`sha256=` and the HMAC-SHA256 of the body in lowercase hex, keyed with the signing secret.',
    example: `sha256=${'0f'.repeat(32)}`,
  }),
  'webhook-id': z.string().meta({
    description: 'The id of the event, the same in every attempt (Standard Webhooks).',
    example: 'evt_01a1ff35-3880-7ef5-bbba-0d7e1de2529c',
  }),
  'webhook-timestamp': z.string().meta({ description: 'Seconds since 1970, of the attempt.', example: '1896080400' }),
  'webhook-signature': z.string().meta({
    description: '`v1,` and the base64 signature of id, timestamp and body; several after a rotation, by blanks.',
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  }),
  'X-Service-Delivery': uuid.meta({ description: 'The id of the delivery, the same in every attempt. Not signed.' }),
  'X-Service-Attempt': z.string().meta({ description: 'Which attempt it is, from 1. Not signed.', example: '1' }),
})

const created_at = timestamp.meta({ description: 'When the event entered the log.' })

function schemaOf(type: EventType): z.ZodObject {
  return z
    .object({ id: eventId, type: z.literal(type), created_at, data: payloadSchemas[type] })
    .meta({ id: `${pascalCaseOf(type)}Webhook` })
}

function describeWebhooks(): ZodOpenApiPathsObject {
  return Object.fromEntries(eventTypes.map((type) => [type, { post: toWebhookOperation(type) }]))
}

function toWebhookOperation(type: EventType): ZodOpenApiOperationObject {
  const schema = schemaOf(type)
  return {
    tags: ['Events'],
    summary: describeEvent(type),
    operationId: `on_${type.replace('.', '_')}`,
    // Signed, not authorized with a key.
    security: [],
    requestParams: { header: headers },
    requestBody: {
      required: true,
      content: { 'application/json': { schema, example: exampleOf(schema).value } },
    },
    responses: {
      '2XX': { description: 'The event was received.' },
      '410': { description: 'The endpoint is gone: the webhook is switched off.' },
      default: { description: 'The event is sent again later.' },
    },
  }
}
