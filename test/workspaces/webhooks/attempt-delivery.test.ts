/** One attempt: the addresses that are judged are those that the request goes to, at each attempt anew. */
import t from 'tap'
import { createAddressGuard } from '../../../src/base/platform/address-guard.js'
import type { LookupResult } from '../../../src/base/platform/dns/resolver.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { type AttemptDeps, attemptDelivery } from '../../../src/workspaces/webhooks/attempt-delivery.js'
import { EndpointAddresses } from '../../../src/workspaces/webhooks/endpoint-addresses.js'
import { EventWalk } from '../../../src/workspaces/webhooks/event-walk.js'
import type { RequestContent } from '../../../src/workspaces/webhooks/request-protocol.js'
import type { Task } from '../../../src/workspaces/webhooks/webhook-lane.js'
import type { Webhook } from '../../../src/workspaces/webhooks/webhook-records.js'
import { plainPreparer } from '../../helpers/http/plain-preparer.js'

const webhook: Webhook = {
  id: 'wh_1',
  workspace_id: 'ws_1',
  url: 'https://hooks.test/path',
  events: toJson(['email.sent'] as const),
  enabled: 1,
  disabled_reason: null,
  secret: 'whsec_new',
  previous_secret: 'whsec_old',
  previous_secret_until: 1_000,
  event_cursor: 0,
  failing_since: null,
  replay_day: 0,
  replayed: 0,
  created_at: 0,
  updated_at: 0,
  format: 'posthorn',
  content: 'none',
  headers: null,
  login: null,
  verification_key: null,
  verification_secret: null,
}
const walk = new EventWalk({
  ...{ id: 'wh_1', workspaceId: 'ws_1', slot: 0, cursor: 0 },
  ...{ end: null, idTime: null, accepts: () => true },
})
const event = { seq: 1, id: 'evt_1', type: 'email.sent', created_at: 5, data: toJson({}) } as const
const task: Task = { kind: 'event', walk, replay: null, deliveryId: 'd1', event }

/** DNS gives these answers in turn. */
function attemptWith(answers: LookupResult<string>[], requests: RequestContent[], now = 0): AttemptDeps {
  return {
    clock: () => now,
    endpoints: new EndpointAddresses({
      mayConnect: createAddressGuard([]),
      resolveAddresses: async () => answers.shift() ?? { kind: 'no-domain' },
      timeout: () => 10_000,
    }),
    preparer: plainPreparer(() => []),
    timeout: () => 10_000,
    request: async (content) => {
      requests.push(content)
      return { kind: 'answer', status: 200, body: '', took: 1 }
    },
  }
}

t.test('a name that leads elsewhere at the next attempt is refused then', async (t) => {
  const requests: RequestContent[] = []
  const deps = attemptWith(
    [
      { kind: 'records', records: ['8.8.8.8', '10.0.0.1'] },
      { kind: 'records', records: ['127.0.0.1'] },
    ],
    requests,
  )
  t.match(await attemptDelivery(deps, { webhook, limit: 8, task }), { status: 200 })
  t.match(requests, [{ addresses: ['8.8.8.8'], url: webhook.url, deliveryId: 'd1', attempt: 1, limit: 8 }])
  t.same(requests[0]?.addresses.length, 1, 'the private address is left out')
  t.match(await attemptDelivery(deps, { webhook, limit: 8, task }), { kind: 'fault', reason: /may be dialled/ })
  t.match(await attemptDelivery(deps, { webhook, limit: 8, task }), { kind: 'fault', reason: /does not exist/ })
  t.equal(requests.length, 1)
})

t.test('the previous secret signs until its time is over', async (t) => {
  const requests: RequestContent[] = []
  const found: LookupResult<string> = { kind: 'records', records: ['8.8.8.8'] }
  await attemptDelivery(attemptWith([found], requests, 999), { webhook, limit: 1, task })
  await attemptDelivery(attemptWith([found], requests, 1_000), { webhook, limit: 1, task })
  t.match(requests, [{ previousSecret: 'whsec_old' }, { secret: 'whsec_new', previousSecret: null }])
})
