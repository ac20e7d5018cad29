/** The provider for development. */
import { pino } from 'pino'
import t from 'tap'
import { LogProvider } from '../../../src/workspaces/sms/log-provider.js'
import { encodeText } from '../../../src/workspaces/sms/text-encoding.js'

t.test('the text is one line of the log, and the message counts as sent', async (t) => {
  const lines: unknown[] = []
  const log = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) })
  const provider = new LogProvider(log)
  const message = {
    id: 'code-1',
    phone: '+4915123456789',
    text: encodeText('Code 048213\n'),
    expiresAt: 0,
    receiptUrl: '',
  }
  t.same(await provider.send(message), { kind: 'accepted', messageIds: [] })
  t.match(lines, [{ level: 30, sms_id: 'code-1', phone: '+4915123456789', text: 'Code 048213\n' }])
  t.equal(provider.name, 'log')
  await provider.stop()
})
