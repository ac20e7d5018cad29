/** Certificates as rows. */
import t from 'tap'
import { type DomainName, parseDomainName } from '../../../src/base/mail/address.js'
import {
  readAllFacts,
  readFacts,
  readPair,
  removeExpired,
  storeCertificate,
  toCertificateRow,
} from '../../../src/operations/certificates/certificate-rows.js'
import { readCertificateFacts } from '../../../src/operations/certificates/renewal-plan.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const name = parseDomainName('mail.a.test')

t.test('a certificate comes back as it was stored, and a new one takes its place', async (t) => {
  const { read, commit } = (await temporaryDatabase(t)).database
  t.equal(await readPair(read, name), null)
  t.equal(await readFacts(read, name), null)
  const [first, second] = [await createSelfSigned([name]), await createSelfSigned([name])]
  await commit([storeCertificate(toCertificateRow(name, first))])
  t.same(await readPair(read, name), first)
  t.same(await readFacts(read, name), readCertificateFacts(first.cert), 'what decides needs no look at the certificate')
  await commit([storeCertificate(toCertificateRow(name, second))])
  t.same(await readPair(read, name), second)
  const { to } = readCertificateFacts(second.cert)
  await commit([removeExpired({ name, now: to - 1 })])
  t.ok(await readPair(read, name))
  await commit([removeExpired({ name, now: to })])
  t.equal(await readPair(read, name), null)
})

t.test('all names are read, however many they are', async (t) => {
  const { read, commit } = (await temporaryDatabase(t)).database
  const row = toCertificateRow(name, await createSelfSigned([name]))
  const names = Array.from({ length: 501 }, (_, at) => `${String(at).padStart(3, '0')}.test` as DomainName)
  await commit(names.map((one) => storeCertificate({ ...row, name: one })))
  t.same([...(await readAllFacts(read)).keys()], names)
})

t.test('a certificate of another name, or with another key, is not stored', async (t) => {
  const [pair, other] = [await createSelfSigned([name]), await createSelfSigned([name])]
  t.throws(() => toCertificateRow(parseDomainName('b.test'), pair), /not for b\.test/)
  t.throws(() => toCertificateRow(name, { cert: pair.cert, key: other.key }), /key values mismatch/)
})
