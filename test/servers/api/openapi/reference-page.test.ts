/** docs/rest.md and the pages that it links to name each operation of the OpenAPI document, and no other. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import type { RestRequest } from '../../../helpers/http/rest-client.js'

interface Schema {
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, unknown>>
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const REFERENCE = 'docs/rest.md'
const reference = readFileSync(REFERENCE, 'utf8')
/** The reference, and the pages that it links to. */
const pages: ReadonlyMap<string, string> = new Map(
  [REFERENCE, ...[...reference.matchAll(/\]\(([\w-]+\.md)/g)].map(([, name = '']) => join('docs', name))].map(
    (page) => [page, readFileSync(page, 'utf8')] as const,
  ),
)

/** What pages name although the document does not have it. */
const notInDocument: ReadonlySet<string> = new Set([
  'GET /v1/openapi.json', // The document does not describe itself.
  'GET /v1/emals', // The example of an unknown path.
])

const namedOperation = /\b(GET|HEAD|POST|PUT|PATCH|DELETE) (?:\/api)?(\/v1\/[^\s`'"?,|()]+)/g

/** Each value of a path becomes `{}`: `:id`, `{id}`, `$id`, `ID`. */
function normalize(method: string, path: string): string {
  const segments = path.split('/').map((segment) => (/^[:{$]|^[A-Z]+$/.test(segment) ? '{}' : segment))
  return `${method.toUpperCase()} ${segments.join('/')}`
}

function operationsNamedIn(text: string): readonly string[] {
  return [...text.matchAll(namedOperation)].map(([, method = '', path = '']) => normalize(method, path))
}

const allNamed: ReadonlySet<string> = new Set([...pages.values()].flatMap(operationsNamedIn))

function operationsLackingOnPages(operations: readonly string[]): readonly string[] {
  return operations.filter((operation) => !allNamed.has(operation))
}

/** The texts of inline code. */
function codeOf(text: string): readonly string[] {
  return [...text.replace(/^```.*?^```$/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
}

t.test('the reference of the REST API is complete', async (t) => {
  const app = await testDaemon(t)
  const { paths, components } = (await app.rest('GET', '/v1/openapi.json', { key: null })).json<Document>()
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => normalize(method, path)),
  )

  t.same(operationsLackingOnPages(operations), [], 'each operation is on a page')
  t.same(operationsLackingOnPages(['GET /v1/new']), ['GET /v1/new'], 'a new operation is noticed')

  const existing = new Set([...operations, ...notInDocument])
  const unknown = [...pages].flatMap(([page, text]) =>
    operationsNamedIn(text).flatMap((named) => (existing.has(named) ? [] : [`${page}: ${named}`])),
  )
  t.same(unknown, [], 'each operation on a page exists')
  t.same(
    [...notInDocument].filter((named) => !allNamed.has(named)),
    [],
    'each exception is needed',
  )

  const codes = new Set(codeOf(reference))
  const lacking = (names: readonly string[]): readonly string[] => names.filter((name) => !codes.has(name))
  t.same(lacking(Object.keys(components.schemas['EmailRequest']?.properties ?? {})), [], 'each field of an email')
  t.same(lacking(components.schemas['ErrorCode']?.enum ?? []), [], 'each code of an error')

  const words = new Set([...pages.values()].flatMap((text) => codeOf(text).flatMap((code) => code.split(/\W+/))))
  const fields = Object.entries(components.schemas).flatMap(([name, { properties = {} }]) =>
    Object.keys(properties).map((field) => [field, name] as const),
  )
  const parameters = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ parameters = [] }) =>
      parameters.flatMap((parameter) => (parameter.in === 'query' ? [[parameter.name, path] as const] : [])),
    ),
  )
  const unnamed = [...fields, ...parameters]
    .filter(([name]) => !words.has(name))
    .map(([name, place]) => `${place}: ${name}`)
  t.same(unnamed, [], 'each field and parameter is in code on a page')
})

t.test('the page words errors as the API does', async (t) => {
  const app = await testDaemon(t)
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'Hello', text: 'Hello' }
  const requests: readonly (readonly [method: string, path: string, request: RestRequest])[] = [
    ['POST', '/v1/emails', { body: { ...email, replyto: 'app@a.test' } }],
    ['GET', '/v1/emals', {}],
    ['POST', '/v1/emails', { body: '{\n  "from": "app@a.test",\n}', headers: { 'content-type': 'application/json' } }],
    ['POST', '/v1/emails', { body: { ...email, to: 'ann@example.com, bob@example.com' } }],
    ['POST', '/v1/emails', { body: { ...email, from: 'app@elsewhere.test' } }],
    ['POST', '/v1/emails', { key: null, body: email }],
    ['POST', '/v1/emails/batch', { body: email }],
  ]
  for (const [method, path, request] of requests) {
    const answer = await app.rest(method, path, request)
    const { error } = answer.json<{ readonly error: { readonly code: string; readonly message: string } }>()
    const message = error.message.replace(' a.test', ' example.test')
    t.match(reference, `| \`${error.code}\` | \`${message}\` |`, error.code)
  }
})
