/** What is stored of the tries for each name, and the requests of operators. */
import t from 'tap'
import { type DomainName, parseDomainName } from '../../../src/base/mail/address.js'
import {
  newNameState,
  readState,
  readStates,
  removeUnused,
  requestRenewal,
} from '../../../src/operations/certificates/name-rows.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const name = parseDomainName('mail.a.test')

t.test('a request is in the state of its name', async (t) => {
  const { read, commit } = (await temporaryDatabase(t)).database
  t.same(await readState(read, name), newNameState)
  await commit([requestRenewal({ name, now: 5 })])
  t.same(await readState(read, name), { ...newNameState, isAsked: true, updatedAt: 5 })
  await commit([requestRenewal({ name, now: 6 })])
  t.same(await readState(read, name), { ...newNameState, isAsked: true, updatedAt: 6 })
})

t.test('all names are read, and those that nobody uses are removed', async (t) => {
  const { read, commit } = (await temporaryDatabase(t)).database
  const names = Array.from({ length: 501 }, (_, at) => `${String(at).padStart(3, '0')}.test` as DomainName)
  await commit(names.map((one, at) => requestRenewal({ name: one, now: at })))
  t.same([...(await readStates(read)).keys()], names)
  const before = 500
  await commit(names.map((one) => removeUnused({ name: one, before })))
  t.same([...(await readStates(read)).keys()], ['500.test'])
})
