/** Addresses that are asked: how many a workspace may have, and which give way. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { insertRule } from '../../../../src/workspaces/domains/forwards/forward-rules.js'
import {
  changeAgreement,
  isConfirmed,
  requestTargets,
} from '../../../../src/workspaces/domains/forwards/forward-targets.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { seedDatabase } from '../../../helpers/database/seed-data.js'

const DAY = 86_400_000

t.test('addresses that no rule names give way to others', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  let now = DAY
  const request = async (...addresses: readonly string[]): Promise<readonly string[]> => {
    const { writes, asked } = await requestTargets(read, 'ws_1', addresses.map(parseAddress), now)
    await commit(writes)
    return asked.map(({ id }) => id)
  }
  const total = async (): Promise<unknown> => (await read('select count(*) as n from forward_targets', []))[0]
  const nameIn = (id: string, ...targets: readonly string[]): Promise<unknown> => {
    const rule = { id, workspace_id: 'ws_1', domain_id: 'dom_1', local_part: id, webhook_id: null } as const
    const state = { keep: 1, enabled: 1, created_at: now } as const
    return commit([insertRule({ ...rule, ...state, targets: toJson(targets.map(parseAddress)) })])
  }
  const [first = ''] = await request('Used@b.test')
  await nameIn('used', 'Used@b.test')
  await commit([changeAgreement(first, now)])
  for (let place = 1; place < 1_000; place++) {
    now += DAY / 40
    await request(`x${place}@b.test`)
  }
  t.same(await total(), { n: 1_000 })
  now += DAY / 2
  t.equal((await request('y@b.test')).length, 1)
  t.same(await total(), { n: 23 }, 'those of the last day stay: they are asked once a day')
  t.ok(await isConfirmed(read, 'ws_1', parseAddress('used@b.test')))
})

t.test('addresses in use do not', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const addresses = Array.from({ length: 1_000 }, (_, place) => `x${place}@b.test`)
  await commit(
    addresses.map((address) => ({
      sql: 'insert into forward_targets values (?, ?, ?, ?, 0, 1, null)',
      parameters: ['ws_1', address, `id-${address}`, address],
    })),
  )
  const rule = { id: 'r', workspace_id: 'ws_1', domain_id: 'dom_1', local_part: 'r', webhook_id: null } as const
  const state = { keep: 1, enabled: 1, created_at: 1 } as const
  await commit([insertRule({ ...rule, ...state, targets: toJson(addresses.map(parseAddress)) })])
  await t.rejects(() => requestTargets(read, 'ws_1', [parseAddress('y@b.test')], 9 * DAY), /1000 addresses/)
})

t.test('addresses of an own domain are not asked, and do not count as asked', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const { workspaceId } = await seedDatabase(database)
  const own = Array.from({ length: 60 }, (_, place) => parseAddress(`x${place}@a.test`))
  const first = await requestTargets(read, workspaceId, own, DAY)
  t.same(first.asked, [])
  await commit(first.writes)
  const others = Array.from({ length: 50 }, (_, place) => parseAddress(`x${place}@b.test`))
  const second = await requestTargets(read, workspaceId, others, DAY + 1)
  t.equal(second.asked.length, 50)
  await commit(second.writes)
  await t.rejects(() => requestTargets(read, workspaceId, [parseAddress('y@b.test')], DAY + 2), /50 addresses a day/)
})

const ann = parseAddress('ann@out.test')

t.test('an address that does not answer is asked three times, once a day at most', async (t) => {
  const { database } = await temporaryDatabase(t)
  let now = 10 * DAY
  const ask = async (): Promise<number> => {
    const { writes, asked } = await requestTargets(database.read, 'ws_1', [ann], now)
    await database.commit(writes)
    return asked.length
  }
  const days: number[] = []
  for (let day = 0; day < 6; day += 1) {
    days.push((await ask()) + (await ask()))
    now += DAY + 1
  }
  t.same(days, [1, 1, 1, 0, 0, 0])
})

t.test('who has withdrawn is not asked again, and can agree all the same', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { writes, asked } = await requestTargets(database.read, 'ws_1', [ann], DAY)
  await database.commit(writes)
  const id = asked[0]?.id ?? ''
  await database.commit([changeAgreement(id, DAY)])
  t.ok(await isConfirmed(database.read, 'ws_1', ann))
  await database.commit([changeAgreement(id, null)])
  t.notOk(await isConfirmed(database.read, 'ws_1', ann))
  t.same(await requestTargets(database.read, 'ws_1', [ann], 9 * DAY), { writes: [], asked: [] })
  await database.commit([changeAgreement(id, 9 * DAY)])
  t.ok(await isConfirmed(database.read, 'ws_1', ann))
})
