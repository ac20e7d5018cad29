/** What prepared statements bind. */
import t from 'tap'
import { prepareRead, prepareWrite, queryBuilder, runQuery, toWrite } from '../../../../src/base/storage/db/prepared.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

interface State {
  readonly key: string
  readonly value: string
}

const insert = prepareWrite<State>(({ db, slots }) => db.insertInto('service_state').values(slots(['key', 'value'])))
const stateOf = prepareRead<{ key: string }>()(({ db, slot }) =>
  db.selectFrom('service_state').select('value').where('key', '=', slot('key')),
)

t.test(
  'no text with NUL or half of a surrogate pair reaches the database, and reads find what became of it',
  async (t) => {
    const { database } = await temporaryDatabase(t)
    const key = 'a\0b\ud83d'
    await database.commit([insert({ key, value: '\udc00 \0' })])
    t.same(await stateOf(database.read, { key }), [{ value: '\ufffd \ufffd' }])
    t.same(await stateOf(database.read, { key: 'a\ufffdb\ufffd' }), [{ value: '\ufffd \ufffd' }])
    const one = queryBuilder.updateTable('service_state').set({ value: 'x\0' }).where('key', '=', key)
    await database.commit([toWrite(one, 1)])
    const rows = await runQuery(
      database.read,
      queryBuilder.selectFrom('service_state').select(['key', 'value']).where('value', '=', 'x\0'),
    )
    t.same(rows, [{ key: 'a\ufffdb\ufffd', value: 'x\ufffd' }])
  },
)
