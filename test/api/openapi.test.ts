/** The OpenAPI document: well-formed, complete, and held against what the door answers. */
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { testDaemon } from '../helpers/test-daemon.js'

interface Document {
  readonly openapi: string
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly operationId: string
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
}

t.test('the document is OpenAPI 3.1 and names every route, under its methods, and no other', async (t) => {
  const app = await testDaemon(t)
  const answer = await app.rest('GET', '/v1/openapi.json', { key: null })
  t.equal(answer.status, 200)
  const document = answer.json<Document>()
  const verdict = await new Validator().validate(answer.json<Record<string, never>>())
  t.same(verdict.errors ?? [], [])
  t.match(document.openapi, /^3\.1\./)
  t.same(document.servers, [{ url: app.config.service.public_url }])

  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const served = app.daemon.routes.map(({ method, path }) => `${method} /v1${path.replace(/:(\w+)/g, '{$1}')}`)
  t.same(documented.sort(), [...served].sort())
  const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((it) => it.operationId))
  t.equal(new Set(ids).size, ids.length, 'each operation has a name of its own')
})

t.test('every route says what it answers and what it refuses', async (t) => {
  const app = await testDaemon(t)
  for (const { method, path, answers, summary } of app.daemon.routes) {
    t.ok(Object.keys(answers).length > 0 && summary !== '', `${method} ${path}`)
  }
})
