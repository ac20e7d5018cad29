/** What programs write to sendmail becomes a message for SMTP. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { addFrom, findRecipients, readInput } from '../../../src/operations/sendmail/compose-input.js'

const read = (text: string, ignoresDots = true): string => readInput(Buffer.from(text), ignoresDots).toString()

t.test('lines end with CRLF, and a line of a mailbox file goes', async (t) => {
  t.equal(read('From me Mon Jan 1\nSubject: s\n\nbody\r\n'), 'Subject: s\r\n\r\nbody\r\n')
})

t.test('a text without a header gets an empty one', async (t) => {
  t.equal(read('hello: it works\n'), 'hello: it works\r\n')
  t.equal(read('it works\n'), '\r\nit works\r\n')
  t.equal(read('\nit works\n'), '\r\nit works\r\n')
  t.equal(read(''), '\r\n')
})

t.test('a line with only a dot ends the message, unless dots are ignored', async (t) => {
  t.equal(read('S: s\n\na\n.\nb\n', false), 'S: s\r\n\r\na\r\n')
  t.equal(read('S: s\n\na\n.\nb\n'), 'S: s\r\n\r\na\r\n.\r\nb\r\n')
  t.equal(read('S: s\n\n..\n', false), 'S: s\r\n\r\n..\r\n')
})

t.test('recipients are those of To, Cc and Bcc, and names of this machine', async (t) => {
  const head = 'To: Bob <bob@b.test>, root\r\nCC: "C, D" <c@b.test>\r\nBcc: d@b.test\r\nTo: e@b.test\r\n\r\n'
  t.same(findRecipients(Buffer.from(head)).toSorted(), ['bob@b.test', 'c@b.test', 'd@b.test', 'e@b.test', 'root'])
  const many = Array.from({ length: 1_000 }, (_, n) => `user${n}@b.test`)
  t.same(findRecipients(Buffer.from(`To: ${many.join(', ')}\r\n\r\n`)), many, 'a long list')
})

t.test('a missing From is added with the name of the caller', async (t) => {
  const sender = parseAddress('root@host.lan')
  t.equal(
    addFrom(Buffer.from('S: s\r\n\r\n'), sender, 'Cron Daemon').toString(),
    'From: Cron Daemon <root@host.lan>\r\nS: s\r\n\r\n',
  )
  t.equal(addFrom(Buffer.from('\r\n'), sender, '').toString(), 'From: root@host.lan\r\n\r\n')
  t.equal(addFrom(Buffer.from('\r\n'), sender, 'x\r\nBcc: y, "').toString().split('\r\n').length, 3)
  const cron = 'S: s\r\nFrom: root (Cron Daemon)\r\n\r\n'
  t.equal(addFrom(Buffer.from(cron), sender, '').toString(), 'From: Cron Daemon <root@host.lan>\r\nS: s\r\n\r\n')
  t.equal(addFrom(Buffer.from('from: a@b.test\r\n\r\n'), sender, 'x').toString(), 'from: a@b.test\r\n\r\n')
})
