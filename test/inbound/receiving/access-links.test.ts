/** Which mail of the service may not be filed: the one whose record says that a link in it gives access. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { AccessLinks } from '../../../src/inbound/receiving/access-links.js'
import { enqueueServiceEmail } from '../../../src/records/messages/service-email.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const from = parseAddress('posthorn@mx.test')
const idOf = (digit: number): string => `01a22758-8bab-72d8-b6b5-c18daba1b4f${digit}`

t.test('only the record decides, and only for mail of the null sender', async (t) => {
  const { database } = await temporaryDatabase(t)
  const links = new AccessLinks(database.read, 'mx.test')
  for (const [digit, givesAccess] of [true, false].entries()) {
    const messageId = `<${idOf(digit)}@mx.test>`
    const email = { id: idOf(digit), messageId, from, to: parseAddress('a@b.test'), subject: 'x', now: 1, givesAccess }
    await database.commit(enqueueServiceEmail(email, Buffer.from('Subject: x\r\n\r\nx\r\n')).enqueued.writes)
  }
  t.equal(await links.areIn('', `<${idOf(0)}@mx.test>`), true)
  t.equal(await links.areIn('', `<${idOf(1)}@mx.test>`), false, 'a notice without such a link')
  t.equal(await links.areIn('', `<${idOf(2)}@mx.test>`), false, 'no mail of ours')
  t.equal(await links.areIn('', `<${idOf(0)}@other.test>`), false)
  t.equal(await links.areIn('', `<${idOf(0)}x@mx.test>`), false)
  t.equal(await links.areIn('', null), false)
  t.equal(await links.areIn(parseAddress('x@b.test'), `<${idOf(0)}@mx.test>`), false)
})
