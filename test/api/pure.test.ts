/** What decides at the REST door without a socket: errors, input, JSON, addresses, paths. */

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { type BatchDeps, batchRoute, MAX_BATCH_BYTES } from '../../src/api/emails/batch.js'
import { type EmailChangeDeps, rescheduleRoute } from '../../src/api/emails/change.js'
import { emailRequest } from '../../src/api/emails/email-request.js'
import { createProxyCheck, findClientAddress, findClientScheme, type Peer } from '../../src/api/http/client-address.js'
import { addressIssue, parseInput, toInputRefusal } from '../../src/api/http/input/input.js'
import { checkShape, MAX_DEPTH, MAX_VALUES, parseJson } from '../../src/api/http/input/json-body.js'
import { address, domainName, moment, network } from '../../src/api/http/input/values.js'
import { isForeignOrigin } from '../../src/api/http/origin.js'
import { type ErrorBody, errorHeaders, toErrorBody } from '../../src/api/http/output/error-answer.js'
import { hasLargeText, stringifyInSteps } from '../../src/api/http/output/json-in-steps.js'
import type { Call } from '../../src/api/http/route.js'
import { toResourcePath } from '../../src/api/http/routing.js'
import {
  downloadTypeOf,
  fileNameOf,
  formatContentDisposition,
  sanitizeFileName,
} from '../../src/api/inbound/attachment-file.js'
import { formatForDisplay } from '../../src/mail/address.js'
import { Refusal, type RefusalKind } from '../../src/mail/refusal.js'
import { parseReleaseTime } from '../../src/sending/schedule.js'
import { ConstraintViolated, StorageFault, WriteConflict } from '../../src/storage/writer/write.js'
import { networks } from '../helpers/config-values.js'

function refusal(work: () => unknown): Refusal {
  try {
    work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('not refused')
}

const ofRefusal = (kind: RefusalKind, details: Record<string, unknown> = {}): ErrorBody['error'] =>
  toErrorBody(new Refusal(kind, 'why', details), () => t.fail('a refusal is no bug')).error

const names: readonly (readonly [given: string, safe: string])[] = [
  ['report.pdf', 'report.pdf'],
  ['../../etc/passwd', '_.._etc_passwd'],
  ['..\\..\\autorun.inf', '_.._autorun.inf'],
  ['/', '_'],
  ['.htaccess', 'htaccess'],
  ['. . .x', 'x'],
  ['', 'attachment'],
  ['...', 'attachment'],
  ['\u202e\u200b', 'attachment'],
  ['annex\u202egpj.exe', 'annexgpj.exe'],
  ['a\r\nSet-Cookie: x=1', 'aSet-Cookie_ x=1'],
  ['a\0b.txt', 'ab.txt'],
  ['half \ud83e.txt', 'half .txt'],
  ['a"b;c.txt', 'a_b;c.txt'],
  ['CON', '_CON'],
  ['nul.txt', '_nul.txt'],
  ['com1 .log', '_com1 .log'],
  ['console.log', 'console.log'],
  ['lpt10', 'lpt10'],
  ['ends with dots. . ', 'ends with dots'],
  ['C:\\dir\\file.txt', 'C__dir_file.txt'],
  ['u\u0308ber.txt', 'über.txt'],
  [`${'x'.repeat(300)}.pdf`, `${'x'.repeat(196)}.pdf`],
  [`${'€'.repeat(300)}.pdf`, `${'€'.repeat(65)}.pdf`],
  [`a.${'x'.repeat(300)}`, `a.${'x'.repeat(198)}`],
  [`${'🦊'.repeat(99)}`, `${'🦊'.repeat(50)}`],
]

t.test('the name of a file that somebody downloads does no harm', (t) => {
  for (const [given, safe] of names) t.equal(sanitizeFileName(given), safe, given.slice(0, 40))
  const header = /^attachment; filename="[\x20\x21\x23-\x5b\x5d-\x7e]+"(; filename\*=UTF-8''[\w!#$&+.^`|~%-]+)?$/
  const property = fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (given) => {
    const name = sanitizeFileName(given)
    t.ok(Buffer.byteLength(name) <= 200 && name !== '' && !/^[.\s]|[/\\\p{Cc}]/u.test(name), name)
    t.match(formatContentDisposition(given), header)
  })
  fc.assert(property, { numRuns: 500, seed: 5 })
  t.equal(formatContentDisposition('a.pdf'), 'attachment; filename="a.pdf"')
  const odd = `attachment; filename="_uro (1)'_.txt"; filename*=UTF-8''%E2%82%ACuro%20%281%29%27%25.txt`
  t.equal(formatContentDisposition("€uro (1)'%.txt"), odd)
  t.end()
})

t.test('types that a browser would run are downloaded as bytes', (t) => {
  for (const type of [
    'image/png',
    'application/pdf',
    'text/plain',
    'application/vnd.ms-excel',
    'application/ms-tnef',
  ]) {
    t.equal(downloadTypeOf(type), type)
  }
  const run = [
    'text/html',
    'application/xhtml+xml',
    'image/svg+xml',
    'text/xml',
    'application/xml',
    'text/javascript',
    'application/javascript',
    'application/vnd.mozilla.xul+xml',
    'multipart/related',
    'text/css',
    'application/x-shockwave-flash',
    'application/java-archive',
  ]
  for (const type of run) t.equal(downloadTypeOf(type), 'application/octet-stream', type)
  t.equal(fileNameOf({ filename: null, content_type: 'application/pdf' }, 0), 'attachment-1.pdf')
  t.equal(fileNameOf({ filename: null, content_type: 'constructor' }, 1), 'attachment-2')
  t.end()
})

t.test('every kind of refusal has its documented code and status', async (t) => {
  const documented: Record<RefusalKind, string> = {
    'malformed-message': '400 validation_error',
    'bare-line-break': '400 validation_error',
    'line-too-long': '400 validation_error',
    'invalid-address': '400 invalid_email_address',
    'invalid-parameter': '400 validation_error',
    'missing-field': '400 missing_required_field',
    'invalid-json': '400 invalid_json',
    'unsupported-media-type': '415 unsupported_media_type',
    'method-not-allowed': '405 method_not_allowed',
    'bad-credentials': '401 invalid_api_key',
    'key-expired': '401 api_key_expired',
    'authentication-required': '401 missing_api_key',
    'too-many-failures': '429 rate_limit_exceeded',
    forbidden: '403 insufficient_permissions',
    'sender-not-verified': '400 invalid_from_address',
    'unknown-recipient': '400 validation_error',
    'relay-denied': '403 insufficient_permissions',
    'recipient-blocked': '403 insufficient_permissions',
    'sender-not-authenticated': '403 insufficient_permissions',
    'all-recipients-suppressed': '422 all_recipients_suppressed',
    'too-many-recipients': '400 validation_error',
    'attachment-too-large': '400 attachment_too_large',
    'too-large': '413 payload_too_large',
    'mailbox-full': '429 quota_exceeded',
    'mail-loop': '400 validation_error',
    'rate-limited': '429 rate_limit_exceeded',
    'daily-limit': '429 daily_limit_exceeded',
    'quota-exceeded': '429 quota_exceeded',
    'insufficient-quota': '402 insufficient_quota',
    conflict: '409 conflict',
    'domain-not-verified': '400 domain_not_verified',
    'domain-taken': '409 domain_already_exists',
    'not-found': '404 not_found',
    'email-not-found': '404 email_not_found',
    'domain-not-found': '404 domain_not_found',
    'template-not-found': '404 template_not_found',
    'audience-not-found': '404 audience_not_found',
    'contact-not-found': '404 contact_not_found',
    'invalid-template-variables': '400 invalid_template_variables',
    'domain-not-proved': '400 domain_verification_failed',
    'dkim-not-proved': '400 dkim_verification_failed',
    'spf-not-proved': '400 spf_verification_failed',
    'no-answer': '504 gateway_timeout',
    'storage-full': '503 service_unavailable',
    unavailable: '503 service_unavailable',
  }
  for (const [kind, expected] of Object.entries(documented)) {
    const { status, code, message } = ofRefusal(kind as RefusalKind)
    t.equal(`${status} ${code}`, expected, kind)
    t.equal(message, 'why')
  }
})

t.test('everything else is a bug, or a fault of the database, and says nothing', async (t) => {
  const reported: unknown[] = []
  const bugs = [new WriteConflict('sql'), new ConstraintViolated('sql'), new TypeError('x'), 'text', undefined, null]
  for (const bug of [...bugs, new StorageFault('SQLITE_IOERR', 'disk')]) {
    const { error } = toErrorBody(bug, (err) => reported.push(err))
    const fault = bug instanceof StorageFault
    t.equal(error.status, fault ? 503 : 500)
    t.equal(error.details, undefined)
    t.notMatch(error.message, /sql|disk/i)
  }
  t.equal(reported.length, 7)
})

t.test('when to come again stands in details and on the error, and in the header', async (t) => {
  const limited = ofRefusal('rate-limited', { retry_after: 7, limit: 1 })
  t.match(limited, { retry_after: 7, details: { retry_after: 7, limit: 1 } })
  t.same(errorHeaders({ error: limited }), { 'Retry-After': '7' })
  for (const kind of ['daily-limit', 'quota-exceeded', 'too-many-failures'] as const) {
    const found = ofRefusal(kind)
    t.equal(found.retry_after, found.details?.['retry_after'], kind)
    t.type(found.retry_after, 'number', kind)
  }
  const busy = ofRefusal('unavailable', { retry_after: 3 })
  t.equal(busy.retry_after, undefined, 'on 429 alone')
  t.same(errorHeaders({ error: busy }), { 'Retry-After': '3' })
  t.match(errorHeaders({ error: ofRefusal('storage-full') }), { 'Retry-After': /^\d+$/ })
  const method = ofRefusal('method-not-allowed', { allowed: ['GET', 'HEAD'] })
  t.same(errorHeaders({ error: method }), { Allow: 'GET, HEAD' })
  t.same(errorHeaders({ error: ofRefusal('not-found', { id: 'x' }) }), {})
})

t.test('a refusal that names one field is told in the form of the interface', async (t) => {
  t.same(ofRefusal('invalid-parameter', { field: 'name', value: 'x', limit: 3 }).details, {
    limit: 3,
    errors: [{ field: 'name', message: 'why', value: 'x' }],
  })
  t.same(ofRefusal('sender-not-verified', {}).details, undefined)
  t.same(ofRefusal('email-not-found', { id: 'x' }).details, { id: 'x' })
})

t.test('what a schema finds wrong is told by code, field and value', async (t) => {
  const address = z.string().superRefine((text, context) => {
    if (!text.includes('@')) context.addIssue({ code: 'custom', message: 'no address', params: addressIssue })
  })
  const schema = z.strictObject({
    to: z.union([address, z.array(address), z.strictObject({ address })]),
    name: z.string().max(3).optional(),
    kind: z.enum(['a', 'b']).optional(),
    count: z.number().int().min(1).optional(),
    deep: z.strictObject({ list: z.array(z.strictObject({ id: z.string() })) }).optional(),
  })
  const rows: readonly (readonly [given: unknown, kind: RefusalKind, field: string, value?: unknown])[] = [
    [{}, 'missing-field', 'to', null],
    [{ to: undefined }, 'missing-field', 'to', null],
    [{ to: 'x' }, 'invalid-address', 'to', 'x'],
    [{ to: ['a@b', 'x'] }, 'invalid-address', 'to[1]', 'x'],
    [{ to: ['a@b', 5] }, 'invalid-parameter', 'to[1]', 5],
    [{ to: {} }, 'missing-field', 'to.address', null],
    [{ to: { address: 'x' } }, 'invalid-address', 'to.address', 'x'],
    [{ to: { address: 'a@b', more: 1 } }, 'invalid-parameter', 'to.more', 1],
    [{ to: 5 }, 'invalid-parameter', 'to', 5],
    [{ to: null }, 'invalid-parameter', 'to', null],
    [{ to: 'a@b', name: 'long' }, 'invalid-parameter', 'name', 'long'],
    [{ to: 'a@b', name: 'x'.repeat(500) }, 'invalid-parameter', 'name', `${'x'.repeat(97)}...`],
    [{ to: 'a@b', name: 'a\r\nb\0c' }, 'invalid-parameter', 'name', 'a??b?c'],
    [{ to: 'a@b', kind: 'c' }, 'invalid-parameter', 'kind', 'c'],
    [{ to: 'a@b', count: 0 }, 'invalid-parameter', 'count', 0],
    [{ to: 'a@b', count: 1.5 }, 'invalid-parameter', 'count', 1.5],
    [{ to: 'a@b', colour: { red: 1 } }, 'invalid-parameter', 'colour', null],
    [{ to: 'a@b', deep: { list: [{ id: 'a' }, {}] } }, 'missing-field', 'deep.list[1].id', null],
    [{ name: 'long', to: 'x' }, 'invalid-address', 'to', 'x'],
    [[], 'invalid-parameter', '', null],
    ['text', 'invalid-parameter', '', 'text'],
    [null, 'invalid-parameter', '', null],
    [undefined, 'missing-field', '', null],
  ]
  for (const [given, kind, field, value] of rows) {
    const { kind: found, details, message } = refusal(() => parseInput(schema, given))
    t.equal(found, kind, JSON.stringify(given))
    const errors = details['errors'] as readonly { readonly field: string; readonly value: unknown }[]
    t.same(errors.find((error) => error.field === field)?.value, value, `${JSON.stringify(given)}: ${field}`)
    t.ok(message.startsWith(field), message)
  }
  const several = refusal(() => parseInput(schema, { to: 'x', name: 'long', one: 1, two: 2 }))
  t.equal((several.details['errors'] as readonly unknown[]).length, 4, 'all of them at once')
  t.equal(toInputRefusal([], {}).kind, 'invalid-parameter')
  t.match(
    refusal(() => parseInput(schema, { to: 5 })),
    { message: 'to: must be text, a list or an object' },
  )
  t.match(
    refusal(() => parseInput(schema, undefined)),
    { message: 'a body is required' },
  )
  const endless = refusal(() => parseInput(z.array(z.string()), Array(5_000).fill(1)))
  t.equal((endless.details['errors'] as readonly unknown[]).length, 100)
})

/** A list or object that counts how often somebody looks into it. */
function countReads<T extends object>(target: T): { readonly value: T; readonly looks: () => number } {
  let looks = 0
  const value = new Proxy(target, {
    get: (inner, name) => {
      if (typeof name === 'string' && Object.hasOwn(inner, name) && name !== 'length') looks += 1
      return Reflect.get(inner, name) as unknown
    },
  })
  return { value, looks: () => looks }
}

t.test('what is too many is not looked into', async (t) => {
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  for (const field of ['to', 'cc', 'bcc', 'reply_to', 'attachments', 'inline_images', 'tags']) {
    const { value, looks } = countReads(Array<string>(49_000).fill('bob@b.test'))
    const { details } = refusal(() => parseInput(emailRequest, { ...email, [field]: value }))
    t.match((details['errors'] as unknown[])[0], { field, message: /^at most/ })
    t.equal(looks(), 0, field)
  }
  const fields = countReads(Object.fromEntries(Array.from({ length: 49_000 }, (_, n) => [`X-${n}`, 'a'])))
  t.match(
    refusal(() => parseInput(emailRequest, { ...email, headers: fields.value })),
    { message: 'headers: at most 50 header fields' },
  )
  t.equal(fields.looks(), 0)
  const many = countReads(Array<unknown>(49_000).fill(email))
  const { body } = batchRoute({} as BatchDeps)
  if (body === null) throw new Error('a batch has a body')
  t.match(
    refusal(() => parseInput(body, many.value)),
    { message: 'at most 100 emails' },
  )
  t.equal(many.looks(), 0)
  t.equal((parseInput(emailRequest, { ...email, to: Array(50).fill('bob@b.test') }) as { to: unknown[] }).to.length, 50)
})

t.test('the messages of a batch are bounded together', async (t) => {
  let composed = 0
  const prepared = {
    raw: Buffer.alloc(MAX_BATCH_BYTES / 4),
    suppressed: [],
    enqueued: { email: { created_at: 0, scheduled_for: null } },
  }
  const compose = () => {
    composed += 1
    return prepared
  }
  const hasDiskSpace = () => true
  const stored = () => ({ uses: () => [], hold: () => undefined, release: () => undefined })
  const deps = { read: () => [], hasDiskSpace, refusalOf: () => null, compose, stored, take: () => t.fail('taken') }
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  const { body, run } = batchRoute(deps as unknown as BatchDeps)
  if (body === null) throw new Error('a batch has a body')
  const call = { principal: { workspaceId: 'ws' }, header: () => undefined, now: 0, rawBody: Buffer.alloc(0) }
  const given = parseInput(body, Array(20).fill(email))
  await t.rejects(Promise.resolve(run({ ...call, body: given } as unknown as Call)), {
    name: 'Refusal',
    kind: 'too-large',
  })
  t.equal(composed, 5, 'the others are not composed')
})

t.test('of what is wrong no more is looked at than is told of', async (t) => {
  const keys = countReads(Array<string>(49_000).fill('colour'))
  const unknown: z.core.$ZodIssue = { code: 'unrecognized_keys', path: [], message: '', keys: keys.value }
  toInputRefusal([unknown], {})
  t.ok(keys.looks() <= 1_000, String(keys.looks()))
  const two: z.core.$ZodIssue = { code: 'unrecognized_keys', path: [], message: '', keys: ['x', 'y'] }
  const union: z.core.$ZodIssue = { code: 'invalid_union', path: [], message: '', errors: [[two, two]] }
  const all = countReads(Array<z.core.$ZodIssue>(49_000).fill(union))
  toInputRefusal(all.value, {})
  t.equal(all.looks(), 250, 'each is worth four')
})

t.test('a value is cut before it is made safe to say', async (t) => {
  const value = 'a\u0000'.repeat(3_000_000)
  let replaced = 0
  const replace = String.prototype.replace
  t.intercept(String.prototype, 'replace', {
    value(this: string, ...given: Parameters<typeof replace>) {
      replaced = Math.max(replaced, this.length)
      return replace.apply(this, given)
    },
  })
  const said = formatForDisplay(value)
  t.equal(said, `${'a?'.repeat(48)}a...`)
  t.equal(replaced, 97)
  t.equal(formatForDisplay('x'.repeat(100)), 'x'.repeat(100))
  t.equal(formatForDisplay('😀'.repeat(100)), `${'😀'.repeat(48)}?...`, 'a pair that the cut divides')
})

t.test('a refused time is said back shortened', async (t) => {
  for (const text of ['x'.repeat(1_000_000), '2999-01-31T09:00:00Z']) {
    const { message, details } = refusal(() => parseReleaseTime(text, 0))
    t.ok(message.length < 300 && String(details['value']).length <= 100)
  }
  const { body } = rescheduleRoute({} as EmailChangeDeps)
  if (body === null) throw new Error('it has a body')
  t.match(
    refusal(() => parseInput(body, { scheduled_for: 'x'.repeat(1_000_000) })),
    { kind: 'invalid-parameter', message: /^scheduled_for/ },
  )
})

t.test('values that are longer than any of their kind are refused unread', async (t) => {
  for (const [schema, right] of [
    [network, '10.0.0.0/8'],
    [domainName, 'a.test'],
    [address, 'bob@a.test'],
    [moment, '2030-01-31T09:00:00Z'],
  ] as const) {
    t.ok(schema.safeParse(right).success, right)
    t.notOk(schema.safeParse(right.padEnd(1_000_000, 'x')).success)
  }
  for (const odd of ['::ffff:10.0.0.0/104', '::ffff:10.0.0.1', 'fe80::1%eth0', 'fe80::1%eth0/64', '::ffff:a00:0/96']) {
    t.notOk(network.safeParse(odd).success, odd)
  }
  for (const right of ['::/0', 'fe80::1', '2001:db8::/32', '10.0.0.1']) t.ok(network.safeParse(right).success, right)
})

const json = (text: string | Buffer): unknown => parseJson(Buffer.from(text))

t.test('JSON is read, and what is none is refused, whatever it is', async (t) => {
  t.same(json(' {"a": ["\\"]}[{", "\\\\", 1e3, true, null], "é": "😀"} '), {
    a: ['"]}[{', '\\', 1000, true, null],
    é: '😀',
  })
  const right = fc.json({ maxDepth: 3, stringUnit: 'binary' })
  fc.assert(
    fc.property(right, (text) => isDeepStrictEqual(json(text), JSON.parse(Buffer.from(text).toString()))),
    { numRuns: 200 },
  )
  const part = fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'x', '1', 'null', '\\u00', ' ', '\0')
  const bits = fc.oneof(
    fc.array(part, { maxLength: 400 }).map((parts) => Buffer.from(parts.join(''))),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  )
  const taken = { read: 0, refused: 0 }
  fc.assert(
    fc.property(bits, (raw) => {
      try {
        parseJson(raw)
        taken.read += 1
      } catch (error) {
        taken.refused += 1
        return error instanceof Refusal && error.kind === 'invalid-json'
      }
      return true
    }),
    { numRuns: 5000 },
  )
  t.ok(taken.read > 0 && taken.refused > 1000, JSON.stringify(taken))
})

/** Brackets and commas outside strings, told from the text as it is read. */
function countJson(text: string): { readonly depth: number; readonly values: number } {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/gs, '""')
  let depth = 0
  let deepest = 0
  for (const character of bare) {
    if ('[{'.includes(character)) depth += 1
    if (']}'.includes(character)) depth -= 1
    deepest = Math.max(deepest, depth)
  }
  return { depth: deepest, values: [...bare].filter((character) => '[{,'.includes(character)).length }
}

t.test('JSON that nests or lists without end is refused before it is parsed', async (t) => {
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
  t.same(json(nested(MAX_DEPTH)), JSON.parse(nested(MAX_DEPTH)))
  for (const deep of [nested(MAX_DEPTH + 1), '{"a":'.repeat(MAX_DEPTH + 1), '['.repeat(5_000_000)]) {
    t.match(
      refusal(() => json(deep)),
      { kind: 'invalid-json', message: /nests deeper/ },
    )
  }
  const list = (values: number): string => `[${Array<string>(values).fill('1').join(',')}]`
  t.equal((json(list(MAX_VALUES)) as unknown[]).length, MAX_VALUES)
  t.match(
    refusal(() => json(list(MAX_VALUES + 1))),
    { kind: 'invalid-json', message: /holds more/ },
  )

  // Strings of any length and any escapes never count, and never hide what follows.
  const character = fc.constantFrom('\\"', '\\\\', '[', '{', ',', 'x', 'é')
  const string = fc.array(character, { maxLength: 600 }).map((parts) => `"${parts.join('')}"`)
  fc.assert(
    fc.property(fc.array(string, { maxLength: 3 }), fc.integer({ min: 1, max: MAX_DEPTH + 3 }), (strings, depth) => {
      const text = `${'['.repeat(depth)}${strings.join(',')}${']'.repeat(depth)}`
      const refused = countJson(text).depth > MAX_DEPTH
      try {
        checkShape(Buffer.from(text))
        return !refused
      } catch {
        return refused
      }
    }),
    { numRuns: 1000 },
  )
})

t.test('where a request comes from', async (t) => {
  const isProxy = createProxyCheck(networks('10.0.0.0/8', '2001:db8:a::/48'))
  const peer: Peer = { address: '10.0.0.1', trusted: true, tls: true }
  const rows: readonly (readonly [forwarded: string | undefined, address: string])[] = [
    [undefined, '10.0.0.1'],
    ['', '10.0.0.1'],
    ['203.0.113.7', '203.0.113.7'],
    ['198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['198.51.100.1, 203.0.113.7, 10.9.9.9', '203.0.113.7'],
    ['198.51.100.1,203.0.113.7 ,2001:db8:a::1,10.9.9.9', '203.0.113.7'],
    ['10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['203.0.113.7:4711', '203.0.113.7'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['203.0.113.7, unknown', '10.0.0.1'],
    ['203.0.113.7, unknown, 10.2.2.2', '10.2.2.2'],
    ['203.0.113.7,,', '10.0.0.1'],
    ['1', '10.0.0.1'],
    ['0x7f000001', '10.0.0.1'],
    ['203.0.113.256', '10.0.0.1'],
    ['localhost', '10.0.0.1'],
  ]
  for (const [forwarded, address] of rows) {
    t.equal(findClientAddress(peer, forwarded, isProxy), address, String(forwarded))
    t.equal(findClientAddress({ ...peer, trusted: false }, forwarded, isProxy), '10.0.0.1', 'a stranger says nothing')
  }
  const entry = fc.oneof(
    fc.constantFrom('203.0.113.7', '10.1.1.1', '[::1]:5', 'x', ' '),
    fc.string({ unit: 'binary' }),
    fc.ipV6(),
  )
  fc.assert(
    fc.property(fc.array(entry), (entries) => findClientAddress(peer, entries.join(','), isProxy) !== ''),
    { numRuns: 1000 },
  )
})

t.test('how the client spoke is told by TLS, or by a proxy', async (t) => {
  const behind: Peer = { address: '127.0.0.1', trusted: true, tls: false }
  t.equal(findClientScheme({ ...behind, trusted: false, tls: true }, 'http'), 'https')
  t.equal(findClientScheme({ ...behind, tls: true }, undefined), 'https')
  t.equal(findClientScheme(behind, 'https'), 'https')
  t.equal(findClientScheme(behind, 'http'), 'http')
  t.equal(findClientScheme(behind, 'http, HTTPS'), 'https', 'the nearest proxy')
  for (const odd of [undefined, '', 'wss', 'https,']) t.equal(findClientScheme(behind, odd), null, String(odd))
})

t.test('a page is ours when it has our name, our port and our scheme', async (t) => {
  const ours = (origin: string, host: string | undefined, scheme: 'http' | 'https' | null = 'https') =>
    !isForeignOrigin(origin, host, scheme)
  t.ok(ours('https://api.test', 'api.test'))
  t.ok(ours('HTTPS://API.test:443', 'api.TEST'))
  t.ok(ours('https://[::1]:8443', '[::1]:8443'))
  t.ok(ours('http://api.test', 'api.test:80', null), 'behind a proxy that tells no scheme')
  t.notOk(ours('http://api.test', 'api.test'))
  t.notOk(ours('https://api.test:80', 'api.test'))
  t.notOk(ours('https://api.test', undefined))
  for (const odd of [
    'null',
    '',
    'https://api.test/',
    'https://x@api.test',
    'ftp://api.test',
    'https://',
    '//api.test',
  ]) {
    t.notOk(ours(odd, 'api.test', null), odd)
  }
})

t.test('a path is the same under every prefix', async (t) => {
  const rows: readonly (readonly [target: string, path: string])[] = [
    ['/v1/emails?x=/v1', '/emails'],
    ['/api/v1/emails', '/emails'],
    ['/emails', '/emails'],
    ['/v1', '/'],
    ['/v1/', '/'],
    ['/api/v1', '/'],
    ['/api/emails', '/api/emails'],
    ['/v10/emails', '/v10/emails'],
    ['/v1x', '/v1x'],
    ['/v1/v1/emails', '/v1/emails'],
    ['https://api.test/v1/emails', '/emails'],
    ['HTTP://api.test', ''],
    ['*', '*'],
    ['', ''],
  ]
  for (const [target, path] of rows) t.equal(toResourcePath(target), path, target)
})

t.test('large texts of an answer become the same JSON in steps, and others have their turn meanwhile', async (t) => {
  const text = `x${'\u{1f600}"\\\t\u00e9'.repeat(200_000)}`
  const body = { id: 'a', left_out: undefined, html: text, list: [{ n: 1 }], nothing: null, text: `${text}\ud83d` }
  if (!hasLargeText(body)) throw new Error('its texts are large')
  let turns = 0
  let over = false
  const count = (): void => {
    turns += 1
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  const json = await stringifyInSteps(body)
  over = true
  t.ok(isDeepStrictEqual(JSON.parse(json.toString()), JSON.parse(JSON.stringify(body))))
  t.ok(turns >= 8, `${turns} turns`)
  for (const small of [null, 'x'.repeat(300_000), [text], { text: 'x' }, { deep: { text } }]) {
    t.notOk(hasLargeText(small))
  }
})
