/** Forms: what their parts become, their limits, and that no malformed form is left without an answer. */
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Refusal } from '../../../../../src/base/mail/refusal.js'
import {
  MAX_FORM_FIELD,
  MAX_FORM_FIELDS,
  MAX_FORM_FILES,
  MAX_URLENCODED_FIELD,
  parseForms,
  readForm,
} from '../../../../../src/servers/api/http/input/form.js'

const type = 'multipart/form-data; boundary=xyz'

function field(name: string, value: string): string {
  return `--xyz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
}

function file(name: string, filename: string, content: string, contentType = 'text/plain'): string {
  const disposition = `Content-Disposition: form-data; name="${name}"; filename="${filename}"`
  return `--xyz\r\n${disposition}\r\nContent-Type: ${contentType}\r\n\r\n${content}\r\n`
}

function form(...parts: readonly string[]): Buffer {
  return Buffer.from(`${parts.join('')}--xyz--\r\n`)
}

async function rejects(t: Test, raw: Buffer, message: RegExp, contentType = type): Promise<void> {
  await t.rejects(readForm(raw, contentType), { name: 'Refusal', message })
}

t.test('fields keep their order and their number, files their bytes', async (t) => {
  const large = 'ä'.repeat(200_000)
  const parts = [field('to', 'a@b.test'), field('html', large), field('to', 'c@d.test')]
  const files = [
    file('attachment', 'a.txt', 'one'),
    file('attachment', 'ü.TXT', large, 'Text/CSV'),
    file('inline', 'c.png', ''),
  ]
  const read = await readForm(form(...parts, ...files), type)
  t.same(
    [...read.fields],
    [
      ['to', ['a@b.test', 'c@d.test']],
      ['html', [large]],
    ],
  )
  t.same(
    read.files.map(({ field, filename, contentType, content }) => [field, filename, contentType, content.length]),
    [
      ['attachment', 'a.txt', 'text/plain', 3],
      ['attachment', 'ü.TXT', 'text/csv', 400_000],
      ['inline', 'c.png', 'text/plain', 0],
    ],
  )
  t.equal(read.files[1]?.content.toString(), large)
})

t.test('a form without files may be urlencoded', async (t) => {
  const read = await readForm(
    Buffer.from('to=a%40b.test&to=c&text=%C3%A4+b&empty='),
    'application/x-www-form-urlencoded',
  )
  t.same(
    [...read.fields],
    [
      ['to', ['a@b.test', 'c']],
      ['text', ['ä b']],
      ['empty', ['']],
    ],
  )
})

t.test('parts are limited', async (t) => {
  const many = Array.from({ length: MAX_FORM_FIELDS }, () => field('to', 'a'))
  t.equal((await readForm(form(...many), type)).fields.get('to')?.length, MAX_FORM_FIELDS)
  await rejects(t, form(...many, field('to', 'a')), /too many parts/)
  await rejects(
    t,
    Buffer.from('a=1&'.repeat(MAX_FORM_FIELDS + 1)),
    /too many parts/,
    'application/x-www-form-urlencoded',
  )
  const files = Array.from({ length: MAX_FORM_FILES + 1 }, () => file('attachment', 'a', 'b'))
  await rejects(t, form(...files), /too many parts/)
  const long = 'a'.repeat(MAX_FORM_FIELD)
  t.equal((await readForm(form(field('html', long)), type)).fields.get('html')?.[0]?.length, MAX_FORM_FIELD)
  await rejects(t, form(field('html', `${long}b`)), /^html: is longer than 8388608 bytes/)
  const urlencoded = 'application/x-www-form-urlencoded'
  const most = 'a'.repeat(MAX_URLENCODED_FIELD)
  t.equal((await readForm(Buffer.from(`html=${most}`), urlencoded)).fields.get('html')?.[0]?.length, most.length)
  const rule = /^html: is longer than 1048576 bytes: send the form as multipart/
  await rejects(t, Buffer.from(`html=${most}b`), rule, urlencoded)
  await rejects(t, form(field('a'.repeat(300), 'b')), /longer than 256 characters/)
})

t.test('malformed forms are refused', async (t) => {
  const whole = form(field('a', 'b'), file('c', 'd', 'e'))
  await rejects(t, Buffer.alloc(0), /not valid/)
  await rejects(t, whole.subarray(0, -10), /not valid/)
  await rejects(t, whole.subarray(0, 40), /not valid/)
  await rejects(t, whole, /Content-Type: must be/, 'multipart/form-data')
  await rejects(t, whole, /Content-Type: must be/, 'text/plain')
})

t.test('whatever the bytes are, there is an answer', async () => {
  const whole = form(field('a', 'b'), file('c', 'd', 'e\r\n--xy'), field('f', ''))
  const change = fc.record({
    at: fc.nat({ max: whole.length }),
    cut: fc.nat({ max: 20 }),
    put: fc.uint8Array({ maxLength: 12 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      let raw = whole
      for (const { at, cut, put } of changes) raw = Buffer.concat([raw.subarray(0, at), put, raw.subarray(at + cut)])
      const result = await readForm(raw, type).catch((error: unknown) => error)
      return result instanceof Refusal || (result as { readonly files: unknown }).files !== undefined
    }),
    { numRuns: 500 },
  )
})

t.test('a form of megabytes is parsed in many turns of the event loop', async (t) => {
  let turns = 0
  let ended = false
  const counting = (async () => {
    for (; !ended; turns += 1) await setImmediate()
  })()
  await readForm(form(file('attachment', 'a', '\r\n--xy'.repeat(1_000_000))), type)
  ended = true
  await counting
  t.ok(turns >= 90, `${turns} turns`)
})

t.test('the parts for a fingerprint do not have the boundary, and tell all fields and files apart', async (t) => {
  const partsOf = async (raw: Buffer, contentType = type) => {
    const { body, parts } = await parseForms((form) => form.fields.size)(raw, contentType)
    return JSON.stringify([body, parts.map(String)])
  }
  const given = form(field('to', 'a'), field('to', 'b'), file('f', 'n', 'content'))
  const other = Buffer.from(given.toString().replaceAll('xyz', 'other'))
  t.equal(await partsOf(given), await partsOf(other, type.replace('xyz', 'other')))
  const others = [
    form(field('to', 'b'), field('to', 'a'), file('f', 'n', 'content')),
    form(field('to', 'a'), field('b', ''), file('f', 'n', 'content')),
    form(field('to', 'a'), field('to', 'b'), file('f', 'n', 'changed')),
    form(field('to', 'a'), field('to', 'b'), file('f', 'm', 'content')),
    form(field('to', 'a'), field('to', 'b'), file('f', 'n', 'content', 'text/csv')),
    form(field('to', 'a'), field('to', 'b'), field('f', 'content')),
  ]
  const all = await Promise.all([given, ...others].map((raw) => partsOf(raw)))
  t.equal(new Set(all).size, all.length)
})
