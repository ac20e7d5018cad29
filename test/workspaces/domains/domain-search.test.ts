/** Verified domains are found by their beginning, in one workspace, also among many that are not verified. */
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { searchVerifiedDomains } from '../../../src/workspaces/domains/domain-search.js'
import { insertDomain, type SendingDomain } from '../../../src/workspaces/domains/rows/sending-domains.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

function domainOf(name: string, more: Partial<SendingDomain> = {}): SendingDomain {
  return {
    ...{ id: `dom_${name}`, workspace_id: 'ws_1', domain: parseDomainName(name), status: 'verified', forced: 0 },
    ...{ inbound: 0, track_opens: 0, track_clicks: 0, created_at: 1_000, verified_at: 1_000 },
    ...{ record_states: toJson({}), checked_at: 1_000, next_check_at: null, unproved_since: null },
    rotation_asked_at: null,
    inbound_policy: toJson({}),
    ...more,
  }
}

t.test('by the beginning, in the order of the names', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const pending = Array.from({ length: 1_000 }, (_, n) => domainOf(`zz${n}.test`, { status: 'pending' }))
  const rows = [
    ...['shop.test', 'b.test', 'a.test', 'sho.test', 'shop.test.example', 'zzz.test'].map((name) => domainOf(name)),
    domainOf('shop-pending.test', { status: 'pending' }),
    domainOf('shop-other.test', { workspace_id: 'ws_2' }),
    ...pending,
  ]
  await commit(rows.map(insertDomain))
  const search = (beginning: string, limit = 10) =>
    searchVerifiedDomains(read, { workspaceId: 'ws_1', beginning, limit })
  t.same(await search('SHOP'), { names: ['shop.test', 'shop.test.example'], hasMore: false })
  t.same(await search('sh', 2), { names: ['sho.test', 'shop.test'], hasMore: true })
  t.same(await search('shx'), { names: [], hasMore: false })
  t.same(await search(''), { names: ['a.test', 'b.test', 'sho.test', 'shop.test', 'shop.test.example'], hasMore: true })
  t.same(await search('zzz'), { names: ['zzz.test'], hasMore: false })
})
