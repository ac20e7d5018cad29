/** What is stored of certificates. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { CertificateFiles } from '../../../src/operations/certificates/certificate-files.js'
import { newNameRecord } from '../../../src/operations/certificates/name-record.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { temporaryFolder } from '../../helpers/database/database.js'

const name = parseDomainName('mail.a.test')
const directory = new URL('https://acme.test/directory')

t.test('everything comes back as it was stored, readable for the owner alone', async (t) => {
  const folder = temporaryFolder(t)
  const files = new CertificateFiles(folder)
  t.same(await files.listNames(), [])
  t.equal(await files.readPair(name), null)
  t.same(await files.readRecord(name), newNameRecord)
  const pair = await createSelfSigned([name])
  const record = { failures: 2, fault: 'no', triedAt: 5, nextTryAt: 7, orders: [1, 2], issued: [3] }
  const order = { url: 'https://acme.test/order/1', account: 'https://acme.test/account/1', key: pair.key }
  await files.storePair(name, pair)
  await files.storeRecord(name, record)
  await files.storeOrder(name, order)
  await files.storeAccount(directory, { url: order.account, key: pair.key })
  const read = await files.readPair(name)
  t.equal(read?.cert.trim(), pair.cert.trim())
  t.equal(read?.key.trim(), pair.key.trim())
  t.same(await files.readRecord(name), record)
  t.same(await files.readOrder(name), order)
  t.same(await files.readAccount(directory), { url: order.account, key: pair.key })
  t.equal(await files.readAccount(new URL('https://else.test/')), null, 'an account belongs to one server')
  t.same(await files.listNames(), [name])
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((one) => one !== 'tls')) {
    t.equal(statSync(join(folder, path)).mode & 0o077, 0, path)
  }
  await files.removeOrder(name)
  t.equal(await files.readOrder(name), null)
  await files.remove(name)
  t.same(await files.listNames(), [])
})

t.test('requests to renew', async (t) => {
  const files = new CertificateFiles(temporaryFolder(t))
  t.same(await files.listRequests(), [])
  await files.requestRenewal(name)
  t.same(await files.listRequests(), [name])
  t.same(await files.listNames(), [], 'the folder of requests is no name')
  await files.removeRequest(name)
  t.same(await files.listRequests(), [])
})

t.test('a file that is broken counts as absent', async (t) => {
  const folder = temporaryFolder(t)
  const files = new CertificateFiles(folder)
  const place = join(folder, 'tls/acme', name)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'record.json'), '{"failures": "many", "orders": [1, "x"]')
  writeFileSync(join(place, 'order.json'), '{"url": 7}')
  writeFileSync(join(place, 'certificate.pem'), '')
  t.same(await files.readRecord(name), newNameRecord)
  t.equal(await files.readOrder(name), null)
  t.equal(await files.readPair(name), null)
  writeFileSync(join(place, 'record.json'), '{"failures": "many", "orders": [1, "x"]}')
  t.same(await files.readRecord(name), { ...newNameRecord, orders: [1] })
})
