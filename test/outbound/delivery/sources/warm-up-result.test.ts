/** What the end of a call means for a warm-up. */
import t from 'tap'
import type { SendResult } from '../../../../src/outbound/delivery/smtp/send-result.js'
import { warmUpResultOf } from '../../../../src/outbound/delivery/sources/warm-up-result.js'
import type { Stage } from '../../../../src/records/messages/replies/classify-reply.js'

const reply = (code: number, enhanced: string | null, text: string) => ({ code, enhanced, text })
const refused = (stage: Stage, code: number, enhanced: string | null, text: string): SendResult => {
  return { kind: 'refused', stage, reply: reply(code, enhanced, text) }
}

t.test('transactions count, and what concerns us counts against us', async (t) => {
  const table: readonly (readonly [SendResult, string])[] = [
    [{ kind: 'accepted', reply: reply(250, '2.0.0', 'ok'), dsnRelayed: false }, 'sent'],
    [{ kind: 'unsendable', reply: reply(550, null, 'no SMTPUTF8') }, 'none'],
    [{ kind: 'failed', stage: 'connect', failure: 'timeout', detail: 'x' }, 'none'],
    [{ kind: 'failed', stage: 'message', failure: 'timeout', detail: 'x' }, 'sent'],
    [refused('rcpt', 550, '5.1.1', 'user unknown'), 'sent'],
    [refused('rcpt', 452, '4.2.2', 'mailbox full'), 'sent'],
    [refused('rcpt', 451, '4.7.1', 'Greylisted, please come back later'), 'sent'],
    [refused('rcpt', 421, '4.7.28', 'unusual rate of unsolicited mail, temporarily rate limited'), 'deferred'],
    [refused('banner', 554, null, 'your address is listed on a blocklist'), 'deferred'],
    [refused('message', 421, '4.7.0', 'IP not in whitelist, low reputation'), 'deferred'],
    [refused('banner', 421, null, 'service not available'), 'none'],
  ]
  for (const [sent, result] of table) t.equal(warmUpResultOf(sent), result, JSON.stringify(sent))
})
