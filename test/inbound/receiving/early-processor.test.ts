/** A message that is processed before its answer: what its process reads, and what becomes of it. */
import t from 'tap'
import { MessageBytes } from '../../../src/base/storage/db/message-bytes.js'
import type { EarlyMessage } from '../../../src/inbound/receiving/analysis/early-analyzer.js'
import type { AnalyzedContent } from '../../../src/inbound/receiving/analysis/inbound-analyzer.js'
import type { ReceivedMessage } from '../../../src/inbound/receiving/authentication/received-message.js'
import { EarlyProcessor, mayBeProcessedEarly } from '../../../src/inbound/receiving/early-processor.js'
import { toUnprocessed } from '../../../src/records/messages/inbound/inbound-record.js'
import { inboundMail } from '../../helpers/mail/inbound-mail.js'

const received = Buffer.from('From: a@b.test\r\n\r\ntext\r\n')
const stored = MessageBytes.moved([Buffer.from('Received: here\r\n'), received])
const content = { summary: {}, analysis: { rules: [], keys: '' } } as unknown as AnalyzedContent
const message = { bytes: MessageBytes.lent(received), client: { session: 's' } } as ReceivedMessage

t.test('the process reads the message as it is stored, in memory of its own', async (t) => {
  const email = toUnprocessed(inboundMail({ id: 'x', workspace_id: 'ws_7' }), stored.length)
  const asked: [EarlyMessage, number][] = []
  const analyze = async (early: EarlyMessage, timeLimit: number): Promise<null> => {
    asked.push([early, timeLimit])
    return null
  }
  const mail = { process: () => t.fail('there is no analysis') as never }
  const processor = new EarlyProcessor({ analyzer: { analyze }, mail })
  t.equal(await processor.process(message, { email, bytes: stored }, null, false), null)
  t.equal(await processor.process(message, { email, bytes: stored }, content, true), null)
  const [[early, limit] = [], [known, limitOfRefusal] = []] = asked
  t.match(early, { received, workspaceId: 'ws_7', session: 's', content: null })
  t.match(early?.contextOf(), { receivedAt: email.received_at })
  t.equal(known?.content, content, 'what a thread has found is not looked for again')
  t.equal(early?.copy().toString(), `Received: here\r\n${received}`)
  t.ok(
    (limitOfRefusal ?? 0) > (limit ?? Number.POSITIVE_INFINITY),
    'an answer that depends on the score may take longer',
  )
})

t.test('only small mail', (t) => {
  const of = (kind: 'mail' | 'report', size: number): boolean =>
    mayBeProcessedEarly({ email: toUnprocessed(inboundMail({ id: 'x', kind }), size), bytes: stored })
  t.same([of('mail', 65_535), of('mail', 65_536), of('report', 100)], [true, false, false])
  t.end()
})
