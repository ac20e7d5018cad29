/** Frames as values: how slots are written, and what is read back from bytes. */
import fc from 'fast-check'
import t from 'tap'
import { decodeFrame, encodeFrame } from '../../../../src/records/messages/frames/encode-frame.js'
import { encodeSlot, slotEncodings } from '../../../../src/records/messages/frames/encode-slot.js'
import type { FrameRecipe, FrameValue } from '../../../../src/records/messages/frames/frame-recipe.js'
import { buildFramed, type MessageFrame, sizeOfFramed } from '../../../../src/records/messages/frames/message-frame.js'

const recipe: FrameRecipe = {
  broadcastId: 'b',
  hostname: 'mail.test',
  domain: 'a.test',
  base: 'https://a.test',
  subject: ['Hi ', { name: 'first_name', fallback: 'you' }],
  values: [
    { kind: 'to' },
    { kind: 'variable', variable: { name: 'email', fallback: '' } },
    { kind: 'link', url: ['https://x.test/', { name: 'email', fallback: '' }] },
  ],
}

const frame: MessageFrame = {
  pieces: [
    { value: 0, encoding: 'verbatim' },
    Buffer.from('\r\nHello =\r\n'),
    { value: 1, encoding: 'quoted-printable-html' },
    { value: 1, encoding: 'quoted-printable-text' },
    Buffer.from('!\r\n'),
  ],
  smtputf8: false,
  recipe,
}

/** Stored signatures cover these bytes: no version may write them otherwise. */
const writtenForms: readonly [value: string, text: string, html: string][] = [
  ['', '', ''],
  ['a b', 'a b=\r\n', 'a b=\r\n'],
  ['a ', 'a =\r\n', 'a =\r\n'],
  ['a\n', 'a\r\n', 'a\r\n'],
  ['a\rb\r\nc', 'a\r\nb\r\nc=\r\n', 'a\r\nb\r\nc=\r\n'],
  ['a=b\t', 'a=3Db\t=\r\n', 'a=3Db\t=\r\n'],
  ['é😀', '=C3=A9=F0=9F=98=80=\r\n', '=C3=A9=F0=9F=98=80=\r\n'],
  ['<a href="x">&\'', `<a href=3D"x">&'=\r\n`, '&lt;a href=3D&quot;x&quot;&gt;&amp;&#39;=\r\n'],
  ['\0.', '=00.=\r\n', '.=\r\n'],
  ['a'.repeat(75), `${'a'.repeat(75)}=\r\n`, `${'a'.repeat(75)}=\r\n`],
  ['a'.repeat(76), `${'a'.repeat(75)}=\r\na=\r\n`, `${'a'.repeat(75)}=\r\na=\r\n`],
]

t.test('slots are written for their place', async (t) => {
  for (const [value, text, html] of writtenForms) {
    t.equal(encodeSlot(value, 'verbatim').toString(), value)
    t.equal(encodeSlot(value, 'quoted-printable-text').toString(), text, JSON.stringify(value))
    t.equal(encodeSlot(value, 'quoted-printable-html').toString(), html, JSON.stringify(value))
  }
})

t.test('a message is its fixed bytes and its values', async (t) => {
  const slots = ['To: b@b.test', '<é>', '']
  const raw = buildFramed(frame, slots)
  t.equal(raw.toString(), 'To: b@b.test\r\nHello =\r\n&lt;=C3=A9&gt;=\r\n<=C3=A9>=\r\n!\r\n')
  t.equal(sizeOfFramed(frame, slots), raw.length)
  t.throws(() => buildFramed(frame, ['a', 'b']), /not as many values/)
})

t.test('a frame is read back as it was written', async (t) => {
  const value: fc.Arbitrary<FrameValue> = fc.oneof(
    fc.constantFrom('email-id', 'date', 'unsubscribe-token', 'to', 'subject').map((kind) => ({ kind })),
    fc.record({ kind: fc.constant('variable'), variable: fc.record({ name: fc.string(), fallback: fc.string() }) }),
  )
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    fc.record({ value: fc.nat({ max: 2 }), encoding: fc.constantFrom(...slotEncodings) }),
  )
  const frames = fc.record({
    pieces: fc.array(piece),
    smtputf8: fc.boolean(),
    recipe: fc.array(value, { minLength: 3, maxLength: 6 }).map((values) => ({ ...recipe, values })),
  })
  fc.assert(
    fc.property(frames, (one) => {
      t.same(decodeFrame(encodeFrame(one)), one)
    }),
  )
  t.same(decodeFrame(encodeFrame(frame)), frame)
})

t.test('other bytes are no frame, whatever they are', async (t) => {
  const bytes = encodeFrame(frame)
  for (let length = 0; length < bytes.length; length += 1) {
    t.throws(() => decodeFrame(bytes.subarray(0, length)), /a stored message frame is invalid/, `cut at ${length}`)
  }
  t.throws(() => decodeFrame(Buffer.concat([bytes, Buffer.from('x')])), /a stored message frame is invalid/)
  const isFrameOrError = (input: Buffer): boolean => {
    try {
      return Buffer.isBuffer(buildFramed(decodeFrame(input), ['', '', '']))
    } catch (error) {
      return error instanceof Error && /^a stored message frame is invalid|not as many values/.test(error.message)
    }
  }
  fc.assert(fc.property(fc.uint8Array(), (input) => isFrameOrError(Buffer.from(input))))
  const description = fc.oneof(
    fc.json(),
    fc
      .record({
        form: fc.constant(1),
        pieces: fc.array(fc.jsonValue()),
        smtputf8: fc.boolean(),
        recipe: fc.jsonValue(),
      })
      .map((value) => JSON.stringify(value)),
    fc.array(fc.jsonValue()).map((values) => JSON.stringify({ form: 1, pieces: [], recipe: { ...recipe, values } })),
    fc
      .jsonValue()
      .map((subject) => JSON.stringify({ form: 1, pieces: [[0, 0]], smtputf8: true, recipe: { ...recipe, subject } })),
  )
  fc.assert(
    fc.property(description, (text) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(Buffer.byteLength(text))
      return isFrameOrError(Buffer.concat([length, Buffer.from(text)]))
    }),
  )
  t.pass('no other error')
})
