/** Parsing of requests: problems by code, field and value; bounds on what is read. */
import t from 'tap'
import { z } from 'zod'
import type { RefusalKind } from '../../../../../src/base/mail/refusal.js'
import { parseReleaseTime } from '../../../../../src/outbound/sending/schedule.js'
import { batchRoute } from '../../../../../src/servers/api/emails/batch.js'
import { type EmailChangeDeps, rescheduleRoute } from '../../../../../src/servers/api/emails/change.js'
import type { EmailAcceptance } from '../../../../../src/servers/api/emails/email-acceptance.js'
import { emailRequest } from '../../../../../src/servers/api/emails/email-request.js'
import { addressIssue, parseInput, toInputRefusal } from '../../../../../src/servers/api/http/input/parse-input.js'
import { address, domainName, moment, network } from '../../../../../src/servers/api/http/input/values.js'
import { catchRefusal } from '../../../../helpers/catch-refusal.js'

t.test('problems found by a schema are reported by code, field and value', async (t) => {
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
    const { kind: found, details, message } = await catchRefusal(() => parseInput(schema, given))
    t.equal(found, kind, JSON.stringify(given))
    const errors = details['errors'] as readonly { readonly field: string; readonly value: unknown }[]
    t.same(errors.find((error) => error.field === field)?.value, value, `${JSON.stringify(given)}: ${field}`)
    t.ok(message.startsWith(field), message)
  }
  const unknown = await catchRefusal(() => parseInput(schema, { to: 'a@b', Name: 'x', colour: 1, deep: { lists: [] } }))
  const { errors: unknownFields } = unknown.details as { errors: { field: string; message: string }[] }
  t.equal(messageAbout('Name'), 'is not a known field; did you mean "name"?')
  t.equal(messageAbout('colour'), 'is not a known field')
  t.equal(messageAbout('deep.lists'), 'is not a known field; did you mean "list"?')
  function messageAbout(field: string): string | undefined {
    return unknownFields.find((error) => error.field === field)?.message
  }
  const several = await catchRefusal(() => parseInput(schema, { to: 'x', name: 'long', one: 1, two: 2 }))
  t.equal((several.details['errors'] as readonly unknown[]).length, 4, 'all of them at once')
  t.equal(toInputRefusal([], {}).kind, 'invalid-parameter')
  t.match(await catchRefusal(() => parseInput(schema, { to: 5 })), { message: 'to: must be text, a list or an object' })
  t.match(await catchRefusal(() => parseInput(schema, undefined)), { message: 'a body is required' })
  const endless = await catchRefusal(() => parseInput(z.array(z.string()), Array(5_000).fill(1)))
  t.equal((endless.details['errors'] as readonly unknown[]).length, 100)
})

/** A list or object that counts the reads of its elements. */
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

t.test('elements beyond a limit are not read', async (t) => {
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  for (const field of ['to', 'cc', 'bcc', 'reply_to', 'attachments', 'inline_images', 'tags']) {
    const { value, looks } = countReads(Array<string>(49_000).fill('bob@b.test'))
    const { details } = await catchRefusal(() => parseInput(emailRequest, { ...email, [field]: value }))
    t.match((details['errors'] as unknown[])[0], { field, message: /^at most/ })
    t.equal(looks(), 0, field)
  }
  const fields = countReads(Object.fromEntries(Array.from({ length: 49_000 }, (_, n) => [`X-${n}`, 'a'])))
  t.match(await catchRefusal(() => parseInput(emailRequest, { ...email, headers: fields.value })), {
    message: 'headers: at most 50 header fields',
  })
  t.equal(fields.looks(), 0)
  const many = countReads(Array<unknown>(49_000).fill(email))
  const { body } = batchRoute({} as EmailAcceptance)
  if (body === null) throw new Error('a batch has a body')
  t.match(await catchRefusal(() => parseInput(body, many.value)), { message: 'at most 100 emails' })
  t.equal(many.looks(), 0)
  t.equal((parseInput(emailRequest, { ...email, to: Array(50).fill('bob@b.test') }) as { to: unknown[] }).to.length, 50)
})

t.test('no more problems are examined than are reported', async (t) => {
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

t.test('a refused time is quoted shortened', async (t) => {
  for (const text of ['x'.repeat(1_000_000), '2999-01-31T09:00:00Z']) {
    const { message, details } = await catchRefusal(() => parseReleaseTime(text, 0))
    t.ok(message.length < 300 && String(details['value']).length <= 100)
  }
  const { body } = rescheduleRoute({} as EmailChangeDeps)
  if (body === null) throw new Error('it has a body')
  t.match(await catchRefusal(() => parseInput(body, { scheduled_for: 'x'.repeat(1_000_000) })), {
    kind: 'invalid-parameter',
    message: /^scheduled_for/,
  })
})

t.test('values that exceed the maximum length are refused unread', async (t) => {
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
