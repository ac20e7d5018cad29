/** One mailbox gets so many reports a day, whatever domains name it. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import {
  createMailboxLimit,
  MAX_REPORTS_TO_MAILBOX,
} from '../../../../src/outbound/delivery/tls-reports/mailbox-limit.js'

t.test('the limit is of a mailbox and a day', async (t) => {
  const take = createMailboxLimit()
  const now = Date.parse('2026-11-23T03:00:00Z')
  const mailbox = parseAddress('tls@b.test')
  for (let count = 0; count < MAX_REPORTS_TO_MAILBOX; count += 1) if (!take(mailbox, now)) t.fail(`at ${count}`)
  t.notOk(take(mailbox, now))
  t.notOk(take(parseAddress('TLS@B.test'), now))
  t.ok(take(parseAddress('other@b.test'), now))
  t.ok(take(mailbox, now + 86_400_000))
})
