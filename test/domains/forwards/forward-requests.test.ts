/** Who is asked whether forwarded mail is taken, and how often. */
import t from 'tap'
import { changeAgreement, isConfirmed, requestTargets } from '../../../src/domains/forwards/forward-targets.js'
import { parseAddress } from '../../../src/mail/address.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const DAY = 86_400_000
const ann = parseAddress('ann@out.test')

t.test('an address that does not answer is asked three times, once a day at most', async (t) => {
  const { database } = await temporaryDatabase(t)
  let now = 10 * DAY
  const ask = async (): Promise<number> => {
    const { writes, asked } = requestTargets(database.read, 'ws_1', [ann], now)
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
  const { writes, asked } = requestTargets(database.read, 'ws_1', [ann], DAY)
  await database.commit(writes)
  const id = asked[0]?.id ?? ''
  await database.commit([changeAgreement(id, DAY)])
  t.ok(isConfirmed(database.read, 'ws_1', ann))
  await database.commit([changeAgreement(id, null)])
  t.notOk(isConfirmed(database.read, 'ws_1', ann))
  t.same(requestTargets(database.read, 'ws_1', [ann], 9 * DAY), { writes: [], asked: [] })
  await database.commit([changeAgreement(id, 9 * DAY)])
  t.ok(isConfirmed(database.read, 'ws_1', ann))
})
