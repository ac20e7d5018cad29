import fc from 'fast-check'
import t from 'tap'
import { MAX_REPLY_TEXT } from '../../../../src/base/mail/reply.js'
import { truncateUtf8 } from '../../../../src/outbound/delivery/smtp/printable-text.js'
import { type ParseResult, ReplyParser } from '../../../../src/outbound/delivery/smtp/reply-parser.js'
import { joinTranscripts, MAX_TRANSCRIPT, Transcript } from '../../../../src/outbound/delivery/smtp/transcript.js'

function parse(text: string | Buffer): readonly ParseResult[] {
  return new ReplyParser().feed(Buffer.from(text as string))
}

function first(text: string | Buffer): { code: number; enhanced: string | null; text: string } | string {
  const [parsed] = parse(text)
  if (parsed === undefined) return 'nothing yet'
  return parsed.kind === 'reply' ? { ...parsed.reply } : parsed.why
}

t.test('reads code, enhanced code and text', async (t) => {
  t.same(first('250 ok\r\n'), { code: 250, enhanced: null, text: 'ok' })
  t.same(first('250 2.1.5 ok\r\n'), { code: 250, enhanced: '2.1.5', text: 'ok' })
  t.same(first('550 5.1.1\r\n'), { code: 550, enhanced: '5.1.1', text: '' })
  t.same(first('354\r\n'), { code: 354, enhanced: null, text: '' })
  t.same(first('250 2.0.0 ok\n'), { code: 250, enhanced: '2.0.0', text: 'ok' }, 'a bare LF ends a line')
})

t.test('joins continuation lines and takes the enhanced code from each', async (t) => {
  t.same(first('550-5.7.1 first\r\n550-5.7.1  second\r\n550 5.7.1 third\r\n'), {
    code: 550,
    enhanced: '5.7.1',
    text: 'first second third',
  })
  t.same(first('550-first\r\n550 5.7.1 second\r\n'), { code: 550, enhanced: '5.7.1', text: 'first second' })
})

t.test('takes the code of the last line, and no enhanced code of another class', async (t) => {
  t.same(first('250-2.0.0 fine\r\n550 no\r\n'), { code: 550, enhanced: null, text: 'fine no' })
  t.same(first('550 4.2.2 full\r\n'), { code: 550, enhanced: null, text: '4.2.2 full' })
})

t.test('gives the lines one by one, as EHLO needs them', async (t) => {
  const [parsed] = parse('250-mx.test\r\n250-SIZE 10\r\n250 PIPELINING\r\n')
  t.same(parsed?.kind === 'reply' && parsed.lines, ['mx.test', 'SIZE 10', 'PIPELINING'])
})

t.test('makes text printable', async (t) => {
  t.same(first(Buffer.from('550 caf\xe9\r\n', 'latin1')), { code: 550, enhanced: null, text: 'café' })
  t.same(first('550 größe\r\n'), { code: 550, enhanced: null, text: 'größe' })
  t.same(first('550 a\tb\x1b[31m\x00\u202e\r\n'), { code: 550, enhanced: null, text: 'a b?[31m??' })
})

t.test('keeps 2 KB of text and never half a character', async (t) => {
  const reply = first(`550-${'é'.repeat(1500)}\r\n550 x${'é'.repeat(1500)}\r\n`)
  t.ok(typeof reply === 'object')
  const text = typeof reply === 'object' ? reply.text : ''
  t.equal(Buffer.byteLength(text), MAX_REPLY_TEXT)
  t.notMatch(text, /\ufffd/)
  t.equal(truncateUtf8('aé', 2), 'a')
})

t.test('takes nonsense for nonsense, and nothing after it', async (t) => {
  t.match(first('hello\r\n'), /not a reply/)
  t.match(first('\r\n'), /not a reply/)
  t.match(first('150 no such class\r\n'), /not a reply/)
  t.match(first('2500 four digits\r\n'), /not a reply/)
  t.match(first(`250 ${'x'.repeat(5000)}\r\n`), /line too long/)
  t.match(first('x'.repeat(5000)), /line without end/)
  t.match(first('250-x\r\n'.repeat(201)), /reply too long/)
  t.match(first(`250-${'x'.repeat(4000)}\r\n`.repeat(17)), /reply too long/)
  const parser = new ReplyParser()
  parser.feed(Buffer.from('what\r\n'))
  t.same(parser.feed(Buffer.from('250 ok\r\n')), [])
})

t.test('knows when it is in the middle of a reply', async (t) => {
  const parser = new ReplyParser()
  t.equal(parser.isMidway, false)
  parser.feed(Buffer.from('250-a\r\n'))
  t.equal(parser.isMidway, true)
  parser.feed(Buffer.from('250 b\r\n'))
  t.equal(parser.isMidway, false)
  parser.feed(Buffer.from('2'))
  t.equal(parser.isMidway, true)
})

const replyText = fc.array(
  fc.tuple(fc.integer({ min: 200, max: 599 }), fc.constantFrom('-', ' '), fc.string({ maxLength: 60 })),
  { maxLength: 8 },
)

t.test('gives the same replies however the bytes are cut', async () => {
  fc.assert(
    fc.property(replyText, fc.array(fc.nat(40), { maxLength: 40 }), (lines, cuts) => {
      const bytes = Buffer.from(lines.map(([code, sign, text]) => `${code}${sign}${text}\r\n`).join(''))
      const parser = new ReplyParser()
      const parsed: ParseResult[] = []
      let at = 0
      for (const cut of cuts) {
        parsed.push(...parser.feed(bytes.subarray(at, at + cut)))
        at += cut
      }
      parsed.push(...parser.feed(bytes.subarray(at)))
      return JSON.stringify(parsed) === JSON.stringify(parse(bytes))
    }),
  )
})

t.test('bears any bytes', async () => {
  const bytes = fc.uint8Array({ maxLength: 300 })
  const almost = fc
    .constantFrom('250-', '250 ', '\r\n', '\n', '\r', '5.1.1 ', '550', '\u0000', 'é')
    .map((text) => Buffer.from(text))
  fc.assert(
    fc.property(fc.array(fc.oneof(bytes, almost), { maxLength: 20 }), (chunks) => {
      const parser = new ReplyParser()
      for (const parsed of chunks.flatMap((chunk) => [...parser.feed(Buffer.from(chunk))])) {
        if (parsed.kind === 'nonsense') continue
        const { code, text } = parsed.reply
        if (code < 200 || code > 599 || Buffer.byteLength(text) > MAX_REPLY_TEXT || /\p{Cc}/u.test(text)) return false
      }
      return true
    }),
  )
})

t.test('a transcript has room for the opening and the transaction each, within 8 KB', async (t) => {
  const transcript = new Transcript()
  for (let line = 0; line < 100; line++) transcript.logReceived(`220 ${'é'.repeat(500)}`)
  transcript.beginTransaction()
  transcript.logSent('an earlier transaction')
  transcript.beginTransaction()
  transcript.logSent('MAIL FROM:<>')
  for (let line = 0; line < 100; line++) transcript.logReceived(`250 ${'x'.repeat(500)}`)
  t.ok(Buffer.byteLength(transcript.toString()) <= MAX_TRANSCRIPT)
  t.match(transcript.toString(), /^< 220 é/)
  t.match(transcript.toString(), /\n> MAIL FROM:<>\n/)
  t.notMatch(transcript.toString(), /earlier/)
})

t.test('of several transcripts the last ones are kept, in whole lines', async (t) => {
  const one = Array.from({ length: 70 }, (_, line) => `< 250 ${line} ${'x'.repeat(90)}\n`).join('')
  const joined = joinTranscripts([one, '', one])
  t.ok(Buffer.byteLength(joined) <= MAX_TRANSCRIPT)
  t.ok(joined.endsWith(one))
  t.match(joined, /^< 250 \d+ x+\n/)
  t.equal(joinTranscripts(['a\n', 'b\n']), 'a\n\nb\n')
})
