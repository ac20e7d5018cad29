/** The operations that no page calls are those that docs/dashboard.md lists. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'

const METHODS = ['get', 'put', 'post', 'delete', 'patch']

interface OpenApiPaths {
  readonly paths: Readonly<Record<string, object>>
}

/** Requests of the pages: `GET /v1/domains/{}`. Files are saved by their path alone. */
function readPageRequests(): ReadonlySet<string> {
  const text = readdirSync('src/ui', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('schema.d.ts'))
    .map((name) => readFileSync(join('src/ui', name), 'utf8'))
    .join('\n')
  const requests = [...text.matchAll(/\b(?:api|sessionApi)\s*\.\s*([A-Z]+)\(\s*'(\/v1\/[^']+)'/g)].map(
    ([, method, path]) => `${method} ${path}`,
  )
  const files = [...text.matchAll(/saveFile\(`(\/v1\/[^`]+)`/g)].map(([, path]) => `GET ${path}`)
  return new Set([...requests, ...files].map(unname))
}

/** Leaves the names of parameters out, which pages and documents spell in their own way. */
function unname(operation: string): string {
  return operation.replace(/\$?\{[^}]*\}|:\w+/g, '{}')
}

function readListedOperations(): readonly string[] {
  const [, section = ''] =
    /## What only the REST interface does\n(.*?)\n## /s.exec(readFileSync('docs/dashboard.md', 'utf8')) ?? []
  const cells = section.split('\n').map((line) => /^\| (`.*?) \|/.exec(line)?.[1] ?? '')
  return cells.flatMap((cell) =>
    [...cell.matchAll(/`([A-Z]+ \/v1\/[^`]+)`/g)].map(([, operation = '']) => unname(operation)),
  )
}

t.test('the list of operations without a page is complete, and names no other', async (t) => {
  const app = await testDaemon(t)
  const { paths } = (await app.rest('GET', '/v1/openapi.json')).json<OpenApiPaths>()
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => METHODS.includes(method))
      .map((method) => unname(`${method.toUpperCase()} ${path}`)),
  )
  const requests = readPageRequests()
  t.ok(operations.length > 100)
  t.same(
    [...requests].filter((request) => !operations.includes(request)),
    [],
    'pages call only operations of the document',
  )
  const withoutPage = operations.filter((operation) => !requests.has(operation))
  t.same(readListedOperations().toSorted(), withoutPage.toSorted())
})
