/** Which domains are listed as in trouble, also among many that are not. */
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { insertDomain, type SendingDomain } from '../../../src/workspaces/domains/rows/sending-domains.js'
import { readTroubledDomains } from '../../../src/workspaces/domains/troubled-domains.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const GRACE = 72 * 3_600_000

function domainOf(place: number, more: Partial<SendingDomain> = {}): SendingDomain {
  return {
    ...{ id: `dom_${String(place).padStart(6, '0')}`, workspace_id: 'ws_1', domain: parseDomainName(`d${place}.test`) },
    ...{ status: 'verified', forced: 0, inbound: 0, track_opens: 0, track_clicks: 0, created_at: 1_000 },
    ...{ verified_at: 1_000, record_states: toJson({}), checked_at: 1_000, next_check_at: null },
    ...{ unproved_since: null, rotation_asked_at: null, inbound_policy: toJson({}) },
    ...more,
  }
}

t.test('pending and failed domains, and verified ones that lose their records', async (t) => {
  const { database } = await temporaryDatabase(t)
  const healthy = Array.from({ length: 600 }, (_, place) => domainOf(place))
  const troubled = [
    domainOf(700, { status: 'pending', unproved_since: 1_000 }),
    domainOf(701, { status: 'failed', unproved_since: 1_000 }),
    domainOf(702, { unproved_since: 5_000, created_at: 2_000 }),
  ]
  const other = domainOf(703, { workspace_id: 'ws_2', status: 'failed' })
  await database.commit([...healthy, ...troubled, other].map(insertDomain))
  const expected = [
    { id: 'dom_000700', domain: 'd700.test', status: 'pending', failsAt: null, wasVerified: true },
    { id: 'dom_000701', domain: 'd701.test', status: 'failed', failsAt: null, wasVerified: true },
    { id: 'dom_000702', domain: 'd702.test', status: 'verified', failsAt: 5_000 + GRACE, wasVerified: true },
  ]
  t.same(await readTroubledDomains(database.read, 'ws_1', 20), expected)
  t.same(await readTroubledDomains(database.read, 'ws_1', 2), expected.slice(0, 2), 'at most the limit')
  t.same(await readTroubledDomains(database.read, 'ws_3', 20), [])
})
