/** Line ends of large text. */
import fc from 'fast-check'
import t from 'tap'
import { withCrlf } from '../../src/mail/line-ends.js'

t.test('every line end becomes CRLF, as a replacement by pattern would have it', async (t) => {
  const texts = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'a', 'ü', '')).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, (text) => withCrlf(Buffer.from(text)).toString() === text.replace(/\r\n|\r|\n/g, '\r\n')),
  )
  t.equal(withCrlf(Buffer.from('a\n\rb\r\n')).toString(), 'a\r\n\r\nb\r\n')
})
