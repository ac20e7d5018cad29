/** The OpenAPI document: well-formed, complete, and compared with what the API answers. */
import { Validator } from '@seriousme/openapi-schema-validator'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { version } from '../../../../src/base/platform/version.js'
import { eventTypes } from '../../../../src/records/events/payloads.js'
import { payloadSchemas } from '../../../../src/servers/api/events/event-schemas.js'
import { statusOfCode } from '../../../../src/servers/api/http/error-answer.js'
import type { Route } from '../../../../src/servers/api/http/route/route.js'
import { exampleOf } from '../../../../src/servers/api/openapi/example.js'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'

interface Schema {
  readonly $ref?: string
  readonly required?: readonly string[]
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}

interface Document {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Answer>>
  }
}

interface Answer {
  readonly $ref?: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly description?: string }[]
  readonly requestBody?: { readonly content: NonNullable<Answer['content']> }
  readonly responses: Readonly<Record<string, Answer>>
}

t.test('the document is OpenAPI 3.1 and names exactly the routes and methods that exist', async (t) => {
  const app = await testDaemon(t)
  const answer = await app.rest('GET', '/v1/openapi.json', { key: null })
  t.equal(answer.status, 200)
  const document = answer.json<Document>()
  const verdict = await new Validator().validate(answer.json<Record<string, never>>())
  t.same(verdict.errors ?? [], [])
  t.match(document.openapi, /^3\.1\./)
  t.equal(document.info.version, version)
  t.same(document.servers, [{ url: app.config.service.public_url }])

  const documented = operationsOf(document).map(({ line }) => line)
  const served = app.daemon.routes.map(({ method, path }) => `${method} /v1${path.replace(/:(\w+)/g, '{$1}')}`)
  t.same(documented.sort(), [...served].sort())
  const ids = operationsOf(document).map(({ operation }) => operation.operationId)
  t.equal(new Set(ids).size, ids.length, 'each operation has a name of its own')
  t.same(lackingIn(document), [], 'everything is described, has its name, its header fields and its example')
  for (const route of app.daemon.routes) {
    t.same(lackingOf(route), [], `${route.method} ${route.path}`)
    t.ok(
      Object.keys(route.answers).length > 0 && route.summary !== '',
      `${route.method} ${route.path} says what it answers`,
    )
  }
  await t.test('requests have required fields, and answers may grow', async (t) => rules(t, document))
})

function rules(t: Test, { components }: Document): void {
  const { schemas } = components
  const sent = schemas['EmailRequest']
  t.same(sent?.required, ['from', 'to'])
  t.equal(sent?.properties?.['tracking']?.required, undefined, 'what has a default may be left out')
  t.equal(sent?.additionalProperties, false, 'requests are strict')
  t.same(schemas['ApiKeyRequest']?.required, ['name'])
  t.same(schemas['ErrorCode']?.enum, Object.keys(statusOfCode))
  for (const name of [
    'Email',
    'Contact',
    'Audience',
    'Template',
    'Domain',
    'Suppression',
    'ApiKey',
    'Member',
    'Workspace',
  ]) {
    t.ok(schemas[name], name)
    t.notOk(JSON.stringify(schemas[name]).includes('"additionalProperties":false'), `${name} may grow`)
  }
}

t.test('the document has the request of a webhook for each type of event', async (t) => {
  const app = await testDaemon(t)
  const { webhooks, components } = (await app.rest('GET', '/v1/openapi.json', { key: null })).json<Document>()
  t.same(Object.keys(webhooks), eventTypes)
  for (const type of eventTypes) {
    const operation = webhooks[type]?.['post']
    const { schema, example } = operation?.requestBody?.content['application/json'] ?? {}
    const body = components.schemas[schema?.$ref?.split('/').at(-1) ?? '']
    t.same(body?.required, ['id', 'type', 'created_at', 'data'], type)
    t.not(body?.additionalProperties, false, 'it may grow')
    const payload = z.object({ data: z.strictObject(payloadSchemas[type].shape) })
    t.match(payload.safeParse(example), { success: true }, `the example of ${type} is right`)
    t.match(example, { type, id: /^evt_/ })
    t.ok(components.schemas[body?.properties?.['data']?.$ref?.split('/').at(-1) ?? ''], 'its payload has a name')
    const standard = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
    const headers = ['X-Service-Signature', ...standard, 'X-Service-Delivery', 'X-Service-Attempt']
    t.same(
      operation?.parameters?.map(({ name }) => name),
      headers,
    )
  }
})

function operationsOf({
  paths,
}: Pick<Document, 'paths'>): readonly { readonly line: string; readonly operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ line: `${method.toUpperCase()} ${path}`, operation })),
  )
}

const everywhere = ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
const withMore: Readonly<Record<string, string>> = { 405: 'Allow', 429: 'Retry-After', 503: 'Retry-After' }

/** What a new route lacks, in words that say what to add. */
function lackingIn(document: Document): readonly string[] {
  const tags = document.tags.filter(({ description }) => description === undefined)
  return [
    ...tags.map(({ name }) => `the tag ${name} has no description (openapi.ts)`),
    ...operationsOf(document).flatMap(({ line, operation }) => [
      ...parametersLacking(operation).map((what) => `${line}: ${what}`),
      ...contentLacking(operation.requestBody?.content).map((what) => `${line}: the body ${what}`),
      ...Object.entries(operation.responses).flatMap(([status, answer]) =>
        answerLacking(document, status, answer).map((what) => `${line}: the answer ${status} ${what}`),
      ),
    ]),
  ]
}

function parametersLacking({ parameters = [] }: Operation): readonly string[] {
  const bare = parameters.filter(({ description }) => description === undefined)
  return bare.map((it) => `the parameter ${it.name} (${it.in}) has no description`)
}

function answerLacking({ components }: Document, status: string, answer: Answer): readonly string[] {
  const whole = components.responses[answer.$ref?.split('/').at(-1) ?? ''] ?? answer
  const more = withMore[status]
  const names = [...everywhere, ...(more === undefined ? [] : [more])]
  const headers = names.filter((name) => whole.headers?.[name] === undefined)
  return [...headers.map((name) => `has no header ${name}`), ...(status < '400' ? contentLacking(whole.content) : [])]
}

function contentLacking(content: Answer['content']): readonly string[] {
  const [[type, media] = ['', undefined]] = Object.entries(content ?? {})
  if (media === undefined) return []
  return [
    ...(type === 'application/json' && media.schema.$ref === undefined ? ['has no name'] : []),
    ...(media.example === undefined ? ['has no example'] : []),
  ]
}

/** Why there is no example, or what is wrong with it. */
function lackingOf(route: Route): readonly string[] {
  const answers = Object.entries(route.answers).flatMap(([status, { schema }]) =>
    schema === undefined ? [] : [[`the answer ${status}`, schema] as const],
  )
  const bodies = route.body === null ? [] : [['the body', route.body] as const]
  return [...bodies, ...answers].flatMap(([what, schema]) => {
    const { value, missing } = exampleOf(schema)
    if (missing.length > 0)
      return [`${what} has no example of ${missing.join(', ')} (.meta({ example }), example-values.ts)`]
    const issues = schema.safeParse(value).error?.issues ?? []
    return issues.map(({ path, message }) => `the example of ${what} is wrong: ${path.join('.')}: ${message}`)
  })
}
