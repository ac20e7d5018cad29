/** Bytes of stored mail that are kept until they are processed: few, and only while they are whole. */
import t from 'tap'
import { toUnprocessed } from '../../src/messages/inbound/inbound-email.js'
import { FreshBytes, toFreshMail } from '../../src/receiving/fresh-mail.js'
import { MovedBytes } from '../../src/storage/writer/write.js'
import { inboundMail } from '../helpers/mail/inbound-mail.js'

t.test('small messages are kept as they are stored', async (t) => {
  const stored = new MovedBytes([Buffer.from('a'), Buffer.from('bc')])
  const email = toUnprocessed(inboundMail({ id: 'x' }), 3)
  t.same(toFreshMail(email, stored), { email, raw: Buffer.from('abc') })
  const large = new MovedBytes([Buffer.alloc(65_537)])
  t.equal(toFreshMail(toUnprocessed(inboundMail({ id: 'x' }), 65_537), large).raw, null)
})

t.test('bytes that were moved to the writer are not', async (t) => {
  const moved = new MovedBytes([Buffer.from('a'), new Uint8Array(0)])
  t.equal(toFreshMail(toUnprocessed(inboundMail({ id: 'x' }), 3), moved).raw, null)
})

t.test('at most 4 MB are kept at once', async (t) => {
  const bytes = new FreshBytes()
  const message = Buffer.alloc(65_536)
  for (let count = 0; count < 64; count += 1) t.equal(bytes.hold(message), message)
  t.equal(bytes.hold(Buffer.from('x')), null)
  bytes.release(null)
  t.equal(bytes.hold(Buffer.from('x')), null)
  bytes.release(message)
  t.equal(bytes.hold(message), message)
  t.equal(bytes.hold(null), null)
})
