/** Certificates are served by name, also those that another daemon has stored. */
import type { SecureContext } from 'node:tls'
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import {
  removeExpired,
  storeCertificate,
  toCertificateRow,
} from '../../../src/operations/certificates/certificate-rows.js'
import { ServedCertificates } from '../../../src/operations/certificates/served-certificates.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const [name, other] = [parseDomainName('mail.a.test'), parseDomainName('mail.b.test')]

function contextOf(served: ServedCertificates, asked: string): Promise<SecureContext | undefined> {
  return new Promise((resolve, reject) => {
    served.chooseContext(asked, (error, context) => (error === null ? resolve(context) : reject(error)))
  })
}

t.test('a certificate of another daemon is served once it is loaded, and so is the next one', async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  const { commit } = await openAgain()
  const faults: string[] = []
  const served = new ServedCertificates({
    ...{ read: database.read, clock: () => Date.UTC(2026, 10, 23) },
    onFault: (one) => faults.push(one),
  })
  t.equal((await served.load()).size, 0)
  const pairs = [await createSelfSigned([name]), await createSelfSigned([name])] as const
  await commit([storeCertificate(toCertificateRow(name, pairs[0]))])
  t.equal(served.serves(name), false)
  t.same([...(await served.load())], [name])
  t.equal(served.serves(name), true)
  const first = await contextOf(served, name)
  t.ok(first)
  t.same([...(await served.load())], [], 'nothing is new')
  t.equal(await contextOf(served, name), first, 'its context is kept')
  await commit([storeCertificate(toCertificateRow(name, pairs[1]))])
  t.same([...(await served.load())], [name])
  const second = await contextOf(served, name)
  t.ok(second)
  t.not(second, first)
  t.equal(await contextOf(served, other), undefined)
  await commit([removeExpired({ name, now: Number.MAX_SAFE_INTEGER })])
  t.equal(await contextOf(served, name), second)
  await served.load()
  t.equal(served.serves(name), false)
  t.same(faults, [])
})

t.test('a load that began before does not undo what this daemon stored', async (t) => {
  const { database } = await temporaryDatabase(t)
  const served = new ServedCertificates({ read: database.read, clock: () => 0, onFault: (one) => t.fail(one) })
  const [old, current] = [await createSelfSigned([name]), await createSelfSigned([name])]
  await database.commit([storeCertificate(toCertificateRow(name, old))])
  await served.load()
  const row = toCertificateRow(name, current)
  const loading = served.load()
  await database.commit([storeCertificate(row)])
  const { fingerprint, valid_from: from, valid_to: to } = row
  await Promise.all([loading, served.adopt(name, { fingerprint, from, to, spread: 0 })])
  t.equal(served.factsOf(name)?.fingerprint, fingerprint)
})
