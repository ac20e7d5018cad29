/**
 * Sends the requests of a row to the daemon and checks the answers.
 *
 * Every answer must have the rate-limit headers, a request id, JSON where there is a body, and the form of errors.
 */
import type { Test } from 'tap'
import { waitUntil } from '../../helpers/wait-until.js'
import { errorShape, statusOfCode } from './errors.js'
import type { PlainResponse } from './plain-client.js'
import type { Asker, Case, Resource, Row } from './row.js'
import type { Shape } from './shapes.js'
import type { World } from './world.js'

const everyAsker = ['owner', 'admin', 'member', 'send', 'read'] as const

export async function prove(t: Test, world: World, { rows }: Resource): Promise<void> {
  for (const row of rows) {
    await t.test(row.row, async (t) => {
      for (const one of row.cases) await proveCase(t, world, row.row, one)
    })
  }
  await t.test('permissions, and all three forms of the path', async (t) => {
    for (const row of rows) await proveWho(t, world, row)
  })
}

export async function proveCase(t: Test, world: World, row: string, given: Case): Promise<void> {
  const one = fillIn(world, given)
  const attempt = async (): Promise<{ answer: PlainResponse; wrong: readonly string[] }> => {
    const answer = await sendCase(world, row, one)
    return { answer, wrong: [...faultsOfAny(world, answer), ...faultsOf(answer, one)] }
  }
  const { answer, wrong } =
    one.until === true
      ? await waitUntil(`${row}: ${one.says}`, async () => {
          const made = await attempt()
          return made.wrong.length === 0 && made
        })
      : await attempt()
  if (wrong.length === 0) t.pass(one.says)
  else t.fail(one.says, { wrong, status: answer.status, answer: answer.text.slice(0, 2000) })
  for (const [name, path] of Object.entries(one.keep ?? {})) world.kept.set(name, String(valueAt(answer, path)))
}

/** The same request with every key, and with none. */
async function proveWho(t: Test, world: World, row: Row): Promise<void> {
  const body = takesBody(row) ? { body: {} } : {}
  const probe = fillIn(world, { says: '', id: '{unknown}', ...body, ...row.probe })
  for (const as of row.who === null ? [] : everyAsker) {
    const answer = await sendCase(world, row.row, { ...probe, as })
    const { status } = answer
    const may = row.who?.includes(as) === true
    const refused = status === 403 && codeOf(answer) === 'insufficient_permissions'
    t.ok(may ? status !== 401 && status !== 403 : refused, `${row.row} as ${as}: ${may ? 'yes' : 'no'} (${status})`)
    t.same(faultsOfAny(world, answer), [], 'and in the form of the document')
  }
  await provePrefixes(t, world, row, probe)
  for (const [as, code] of row.open === true ? [] : withoutKey) {
    // All rows send from one address, which may fail only so often.
    const answer = await waitUntil(`${row.row} with ${as} is within the rate of its address`, async () => {
      const made = await sendCase(world, row.row, { ...probe, as })
      return made.status !== 429 && made
    })
    t.same([answer.status, codeOf(answer)], [401, code], `${row.row} with ${as}`)
  }
}

async function provePrefixes(t: Test, world: World, { row }: Row, probe: Case): Promise<void> {
  const prefixes = ['/v1', '', '/api/v1']
  const asked = prefixes.map((prefix) => sendCase(world, row, { ...probe, as: 'foreign' }, prefix))
  const [plain, ...others] = (await Promise.all(asked)).map(withoutTimes)
  for (const other of others) t.same(other, plain, `${row} without /v1, with /api`)
}

/** Revoked and expired keys: in the table of usage. */
const withoutKey = [
  ['none', 'missing_api_key'],
  ['wrong', 'invalid_api_key'],
] as const

function takesBody({ row }: Row): boolean {
  return /^(?:POST|PATCH)/.test(row)
}

async function sendCase(world: World, row: string, one: Case, prefix = '/v1'): Promise<PlainResponse> {
  const [method = '', path = ''] = (one.request ?? row).replace(/ \(.*/, '').split(' ')
  const query = one.query === undefined ? '' : `?${new URLSearchParams(one.query).toString()}`
  const where = path.replace(/:\w+/, encodeURIComponent(one.id ?? '')).replace(/^\/v1/, prefix)
  const key = world.keys.get(one.as ?? ('owner' satisfies Asker))
  const { body } = one
  return world.client.ask({
    method,
    path: `${where}${query}`,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...one.headers,
    },
    body: body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  })
}

function faultsOf(answer: PlainResponse, { status, shape, refused, holds = {}, responseHeaders = {} }: Case): string[] {
  const expectedStatus = refused === undefined ? (status ?? 200) : statusOfCode[refused.code]
  if (answer.status !== expectedStatus) return [`status: expected ${expectedStatus}, found ${answer.status}`]
  if (expectedStatus === 204) return answer.text === '' ? [] : ['a body where there is none']
  const whole: Shape | undefined = refused === undefined ? shape : errorShape(refused)
  return [
    ...(whole === undefined ? [] : whole(bodyOf(answer), '')),
    ...Object.entries(holds).flatMap(([path, value]) => {
      const found = valueAt(answer, path)
      const same = value instanceof RegExp ? value.test(String(found)) : JSON.stringify(found) === JSON.stringify(value)
      return same ? [] : [`${path}: expected ${String(JSON.stringify(value))}, found ${JSON.stringify(found)}`]
    }),
    ...Object.entries(responseHeaders).flatMap(([name, form]) =>
      form.test(String(answer.headers[name] ?? '')) ? [] : [`header ${name}: found ${String(answer.headers[name])}`],
    ),
  ]
}

/** What every answer must have. */
function faultsOfAny({ app }: World, { status, headers, text }: PlainResponse): string[] {
  const header = (name: string): string => String(headers[name] ?? '')
  const count = (name: string): number => (/^\d+$/.test(header(name)) ? Number(header(name)) : Number.NaN)
  const [most, left, reset] = [
    count('x-ratelimit-limit'),
    count('x-ratelimit-remaining'),
    count('x-ratelimit-reset'),
  ] as const
  const seconds = app.now() / 1000
  // What a person follows in a mail answers with a page.
  const isError = status >= 400 && !header('content-type').startsWith('text/html')
  return [
    ...(most > 0 ? [] : ['X-RateLimit-Limit is no count']),
    ...(left >= 0 && left <= most ? [] : ['X-RateLimit-Remaining is no count within the limit']),
    // As of the arrival of the request: an answer may take 15 s.
    ...(reset > seconds - 20 && reset < seconds + 90_000 ? [] : ['X-RateLimit-Reset is no Unix time to come']),
    ...(header('x-request-id') === '' ? ['no X-Request-Id'] : []),
    ...(header('access-control-allow-origin') === '' ? [] : ['a CORS header']),
    ...(isError && !header('content-type').startsWith('application/json') ? ['an error that is no JSON'] : []),
    ...(status === 429 && !/^\d+$/.test(header('retry-after')) ? ['429 without Retry-After'] : []),
    ...(isError ? errorShape({ code: errorCodeOf(text), details: () => [] })(JSON.parse(text), '') : []).filter(
      // Details are checked where a case names them.
      (fault) => !fault.startsWith('error.details: is missing'),
    ),
  ]
}

function errorCodeOf(text: string): string {
  const { error } = JSON.parse(text) as { readonly error: { readonly code: string } }
  return error.code
}

/** What two answers to the same request have in common. */
function withoutTimes({ status, text }: PlainResponse): unknown {
  return [status, text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '')]
}

const codeOf = ({ text }: PlainResponse): string => errorCodeOf(text)

function bodyOf({ text, headers }: PlainResponse): unknown {
  return String(headers['content-type']).startsWith('application/json') ? (JSON.parse(text) as unknown) : text
}

function valueAt(answer: PlainResponse, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], bodyOf(answer))
}

/** With the stored names filled in. */
function fillIn(world: World, given: Case): Case {
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.replace(/^\{(\w+)\}$|\{(\w+)\}/g, (whole, one, other) => named(whole, one ?? other))
    if (Array.isArray(value)) return value.map(fill)
    if (typeof value !== 'object' || value === null || Buffer.isBuffer(value) || value instanceof RegExp) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fill(inner)]))
  }
  const named = (whole: string, name: string): string => world.kept.get(name) ?? whole
  return fill(given) as Case
}
