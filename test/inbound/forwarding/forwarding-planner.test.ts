/** What one message from outside may cost, whatever rules a workspace has. */
import t from 'tap'
import { parseAddress, parseDomainName } from '../../../src/base/mail/address.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { ForwardingPlanner } from '../../../src/inbound/forwarding/forwarding-planner.js'
import type { EnqueuedEmail } from '../../../src/records/messages/queue/enqueue.js'
import type { ActiveRule } from '../../../src/workspaces/domains/forwards/forward-rule-cache.js'
import { changeAgreement, requestTargets } from '../../../src/workspaces/domains/forwards/forward-targets.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { inboundMail } from '../../helpers/mail/inbound-mail.js'

const MEGABYTE = 1_048_576
const raw = Buffer.from('Subject: x\r\n\r\nx')

t.test('the copies of a message are bounded, and it is filed if a rule gets none', async (t) => {
  const { database } = await temporaryDatabase(t)
  const addresses = Array.from({ length: 30 }, (_, rule) => parseAddress(`u${rule}@a.test`))
  const rules = new Map<string, ActiveRule>()
  for (const [number] of addresses.entries()) {
    const target = parseAddress(`t${number}@out.test`)
    const { writes, asked } = await requestTargets(database.read, 'ws_1', [target], 1)
    await database.commit([...writes, ...asked.map(({ id }) => changeAgreement(id, 1))])
    rules.set(`u${number}`, { id: `rule-${number}`, targets: [target], webhookId: null, keep: false })
  }
  const offered: EnqueuedEmail[] = []
  const planner = new ForwardingPlanner({
    ...{ read: database.read, clock: () => 1_000 },
    names: { hostname: parseDomainName('mx.test'), mail_from: parseAddress('posthorn@mx.test') },
    log: { info: () => undefined, error: () => undefined },
    rules: { find: async () => rules },
    signing: { seal: async () => '' },
    signingKeys: { find: async () => undefined },
    queue: { offer: (enqueued) => offered.push(enqueued) },
    webhooks: { refresh: async () => undefined },
  })
  const planOf = async (size: number, mayBeFiled = true) => {
    const email = {
      ...inboundMail({ id: 'one', workspace_id: 'ws_1' }),
      size,
      envelope_to: toJson(addresses),
      arrival: '{}',
    }
    const planned = await planner.plan(email as never, raw, null, mayBeFiled)
    const before = offered.length
    planned?.onCommitted()
    return { copies: offered.length - before, keep: planned?.keep }
  }
  t.same(await planOf(MEGABYTE), { copies: 30, keep: false })
  t.same(await planOf(25 * MEGABYTE), { copies: 4, keep: true })
  t.same(await planOf(200 * MEGABYTE), { copies: 1, keep: true })
  t.same(
    await planOf(200 * MEGABYTE, false),
    { copies: 1, keep: false },
    'what may not be filed is not, whatever is left out',
  )
})
