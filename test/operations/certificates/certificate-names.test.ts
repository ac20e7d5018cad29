/** Which names get certificates. */
import t from 'tap'
import { listMailHosts, listServiceNames } from '../../../src/operations/certificates/certificate-names.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { seedDatabase } from '../../helpers/database/seed-data.js'
import { testConfig } from '../../helpers/doctor/test-config.js'

t.test('the host of our MTA-STS policy, if there is one and we serve TLS', async (t) => {
  const namesOf = (inbound: Readonly<Record<string, unknown>>, listen = ['0.0.0.0:443']): readonly string[] =>
    listServiceNames(testConfig({ inbound, api: { listen } }))
  t.same(namesOf({}), ['mail.example.net', 'mx.mail.example.net'])
  t.same(namesOf({ mta_sts: 'testing' }), ['mail.example.net', 'mx.mail.example.net', 'mta-sts.mail.example.net'])
  t.same(namesOf({ mta_sts: 'testing' }, ['http://127.0.0.1:8080']), ['mail.example.net', 'mx.mail.example.net'])
})

t.test('of a domain its mail host, and its policy host once DNS has led it to us', async (t) => {
  const { database } = await temporaryDatabase(t)
  await seedDatabase(database)
  t.same(await listMailHosts(database.read), ['posthorn.a.test', 'posthorn.other.test'])
  const sql = `update domains set record_states = '{"policy_host":"verified"}' where domain = 'a.test'`
  await database.commit([{ sql, parameters: [] }])
  t.same(await listMailHosts(database.read), ['posthorn.a.test', 'mta-sts.a.test', 'posthorn.other.test'])
})
