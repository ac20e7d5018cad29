/**
 * Tools on the OpenAPI document: a linter has no warnings, and a client with types generated from it compiles under
 * `strict` and sends.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import openapiTS, { astToString } from 'openapi-typescript'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { Agent, fetch } from 'undici'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'

const run = promisify(execFile)
const modules = resolve('node_modules')

/** A warning or an error. */
interface LintProblem {
  readonly ruleId: string
  readonly location: readonly { readonly pointer: string }[]
}

/** A folder in which packages are found. */
function workshop(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-client-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  symlinkSync(modules, join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  return folder
}

t.test('a linter finds no errors and no warnings in the document', async (t) => {
  const app = await testDaemon(t)
  const folder = workshop(t)
  const answer = await app.rest('GET', '/v1/openapi.json', { key: null })
  t.ok(Buffer.byteLength(answer.text) < 580_000, `${Buffer.byteLength(answer.text)} bytes`)
  writeFileSync(join(folder, 'openapi.json'), answer.text)
  const redocly = join(modules, '@redocly/cli', bin())
  const argv = [redocly, 'lint', '--extends=recommended', '--max-problems=20', '--format=json', 'openapi.json']
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const { stdout } = await run(process.execPath, argv, { cwd: folder, env }).catch((error: unknown) => {
    return error as { stdout: string }
  })
  const { problems } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { readonly problems: readonly LintProblem[] }
  t.same(
    problems.map(({ ruleId, location }) => `${ruleId}: ${location.map(({ pointer }) => pointer).join(' ')}`),
    // A tracked link answers with a redirect, or 404.
    ['operation-2xx-response: #/paths/~1v1~1track~1click~1{trackingId}/get/responses'],
  )
})

function bin(): string {
  const about = createRequire(import.meta.url)(join(modules, '@redocly/cli/package.json')) as {
    readonly bin: Readonly<Record<string, string>>
  }
  return about.bin['redocly'] ?? ''
}

/** A program that uses the client. Lines that must not compile are marked. */
const CLIENT = `
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.js'

type Error = components['schemas']['Error']

export async function use(baseUrl: string, key: string, fetch: (request: Request) => Promise<Response>) {
  const client = createClient<paths>({ baseUrl, fetch, headers: { Authorization: \`Bearer \${key}\` } })
  const later = new Date(Date.now() + 3_600_000).toISOString()
  const sent = await client.POST('/v1/emails', {
    body: { from: 'app@a.test', to: [{ address: 'bob@b.test', name: 'Bob' }], subject: 'hello', text: 'a line', tracking: { open: false }, scheduled_for: later },
    params: { header: { 'Idempotency-Key': 'once' } },
  })
  if (sent.data === undefined) throw new Error(JSON.stringify(sent.error))
  const id: string = sent.data.id
  const { data: email } = await client.GET('/v1/emails/{id}', { params: { path: { id } } })
  const status: components['schemas']['Email']['status'] | undefined = email?.status
  const gone = await client.GET('/v1/emails/{id}', { params: { path: { id: 'nothing' } } })
  const refused: Error | undefined = gone.error
  const code: components['schemas']['ErrorCode'] | undefined = refused?.error.code
  const made = await client.POST('/v1/contacts', { body: { email: 'bob@b.test' } })
  const list = await client.GET('/v1/suppressions', { params: { query: { limit: 10 } } })
  // @ts-expect-error an email has recipients
  const without: components['schemas']['EmailRequest'] = { from: 'app@a.test', subject: 'hello', text: 'a line' }
  // @ts-expect-error no request has this field
  const more: components['schemas']['EmailRequest'] = { from: 'app@a.test', to: 'bob@b.test', colour: 'red' }
  // @ts-expect-error no such code
  const made_up: components['schemas']['ErrorCode'] = 'no_such_code'
  void [without, more, made_up]
  return { id, status, code, contact: made.data?.email, remaining: sent.response.headers.get('x-ratelimit-remaining'), more: list.data?.has_more }
}
`

type Use = (baseUrl: string, key: string, fetch: (request: Request) => Promise<unknown>) => Promise<object>

t.test('a client generated from the document compiles under strict, and sends', async (t) => {
  const app = await testDaemon(t)
  const folder = workshop(t)
  const answer = await app.rest('GET', '/v1/openapi.json', { key: null })
  writeFileSync(join(folder, 'schema.ts'), astToString(await openapiTS(answer.text)))
  writeFileSync(join(folder, 'client.ts'), CLIENT)
  t.same(compileFolder(folder), [])
  const { use } = (await import(pathToFileURL(join(folder, 'client.js')).href)) as { readonly use: Use }
  const result = await use(addressOf(app), app.key, fetchWithCa(t, app))
  t.match(result, {
    id: /^[0-9a-f-]{36}$/,
    status: 'scheduled',
    code: 'email_not_found',
    contact: 'bob@b.test',
    remaining: /^\d+$/,
    more: false,
  })
  t.same(app.errors, [])
})

/** Diagnostics of the compiler; without any, it writes `.js` files. */
function compileFolder(folder: string): readonly string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
    types: ['node'],
  }
  const program = ts.createProgram([join(folder, 'client.ts')], options)
  program.emit()
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

function addressOf(app: TestDaemon): string {
  const endpoint = app.daemon.api.find(({ kind }) => kind === 'tls')
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('the daemon has no REST listener')
  return `https://127.0.0.1:${endpoint.port}`
}

/** `fetch` with the certificate of the daemon verified. */
function fetchWithCa(t: Test, { daemon }: TestDaemon): (request: Request) => Promise<unknown> {
  const dispatcher = new Agent({ connect: { ca: daemon.tls.cert, servername: 'localhost' } })
  t.teardown(() => dispatcher.destroy())
  return async ({ url, method, headers, body }) => {
    const text = body === null ? null : await new Response(body).text()
    return fetch(url, { dispatcher, method, headers: Object.fromEntries(headers), body: text })
  }
}
