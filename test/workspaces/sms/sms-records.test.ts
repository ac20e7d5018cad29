import t from 'tap'
import { removeOldCodes } from '../../../src/workspaces/sms/sms-records.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'

t.test('old codes are removed in portions, with their parts', async (t) => {
  const { database } = await temporaryDatabase(t)
  const build = rowOf(database.read)
  const rows = Array.from({ length: 1_200 }, (_, place) => [
    build('sms_codes', { id: `sms_${place}`, created_at: place, phone: `+${place}`, status: 'verified' }),
    build('sms_parts', { sms_id: `sms_${place}`, part: 1 }),
    build('sms_parts', { sms_id: `sms_${place}`, part: 2 }),
  ])
  await database.commit(await Promise.all(rows.flat()))
  const countLeft = async (): Promise<unknown> =>
    (
      await database.read('select (select count(*) from sms_codes) codes, (select count(*) from sms_parts) parts', [])
    )[0]
  t.equal(await removeOldCodes(database, 0), false)
  t.same(await countLeft(), { codes: 1_200, parts: 2_400 })
  t.equal(await removeOldCodes(database, 1_100), true)
  t.same(await countLeft(), { codes: 700, parts: 1_400 })
  t.equal(await removeOldCodes(database, 1_100), true)
  t.equal(await removeOldCodes(database, 1_100), false)
  t.same(await countLeft(), { codes: 100, parts: 200 })
  t.same(await database.read('select min(created_at) oldest from sms_codes', []), [{ oldest: 1_100 }])
})
