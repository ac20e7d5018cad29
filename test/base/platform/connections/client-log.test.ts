/** The limits of log lines about clients. */
import t from 'tap'
import { addressKeyOf } from '../../../../src/base/platform/connections/client-address.js'
import { ClientLog } from '../../../../src/base/platform/connections/client-log.js'

t.test('lines about clients are limited for each client and in total, and those left out are counted', async (t) => {
  const written: unknown[] = []
  const write = (...line: readonly unknown[]): void => void written.push(line)
  const log = new ClientLog({ info: write, warn: write }, addressKeyOf, { perClient: 2, total: 3, window: 50 })
  const clients = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8::4', '192.0.2.1', '192.0.2.2']
  for (const client of clients) log.info({ client }, 'refused')
  log.warn({ client: '2001:db8::1' }, 'a login failed')
  t.same(written, [
    [{ client: '2001:db8::1' }, 'refused'],
    [{ client: '2001:db8::2' }, 'refused'],
    [{ client: '192.0.2.1' }, 'refused'],
    [{ client: '2001:db8::1' }, 'a login failed'],
  ])
  while (written.length < 5) await new Promise((resolve) => setImmediate(resolve))
  const most = { '2001:db8:0:0::/64': 2, '192.0.2.2': 1 }
  t.same(written[4], [{ left_out: 3, most }, 'lines about clients were left out'])
  log.info({ client: '2001:db8::4' }, 'refused')
  t.equal(written.length, 6, 'the next minute has its own')
})
