/** One mailbox gets so many reports a day, whatever domains name it. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { MAX_REPORTS_TO_MAILBOX, MailboxLimit } from '../../../../src/outbound/delivery/tls-reports/mailbox-limit.js'

t.test('the limit is of a mailbox and a day', async (t) => {
  const limit = new MailboxLimit()
  const now = Date.parse('2026-11-23T03:00:00Z')
  const mailbox = parseAddress('tls@b.test')
  for (let count = 0; count < MAX_REPORTS_TO_MAILBOX; count += 1) if (!limit.take(mailbox, now)) t.fail(`at ${count}`)
  t.notOk(limit.take(mailbox, now))
  t.notOk(limit.take(parseAddress('TLS@B.test'), now))
  t.ok(limit.take(parseAddress('other@b.test'), now))
  t.ok(limit.take(mailbox, now + 86_400_000))
})
