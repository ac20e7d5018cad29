/** Files of an earlier version become rows once. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { AccountRows } from '../../../src/operations/certificates/account-rows.js'
import { readPair } from '../../../src/operations/certificates/certificate-rows.js'
import { importFiles } from '../../../src/operations/certificates/import-files.js'
import { NameLeases } from '../../../src/operations/certificates/name-leases.js'
import { newNameRecord } from '../../../src/operations/certificates/name-record.js'
import { newNameState, readState, readStates } from '../../../src/operations/certificates/name-rows.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { temporaryDatabase, temporaryFolder } from '../../helpers/database/database.js'

const name = parseDomainName('mail.a.test')
const [waiting, broken] = [parseDomainName('posthorn.b.test'), parseDomainName('posthorn.c.test')]
const directory = new URL('https://acme.test/directory')
const account = { url: 'https://acme.test/account/1', key: 'its key' }
const order = { url: 'https://acme.test/order/1', account: account.url, key: 'key of the order' }
const record = { failures: 2, fault: 'no', triedAt: 5, nextTryAt: 7, orders: [1, 2], issued: [3] }

function writeFiles(dataFolder: string, files: Readonly<Record<string, string>>): string {
  const folder = join(dataFolder, 'tls/acme')
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

t.test('everything that can be used is taken over, and the folder is gone', async (t) => {
  const { database } = await temporaryDatabase(t)
  const dataFolder = temporaryFolder(t)
  const pair = await createSelfSigned([name])
  const folder = writeFiles(dataFolder, {
    'account-0123456789abcdef.json': JSON.stringify({ directory: directory.href, ...account }),
    [`${name}/certificate.pem`]: `${pair.key.trimEnd()}\n${pair.cert}`,
    [`${name}/record.json`]: JSON.stringify(record),
    [`${waiting}/order.json`]: JSON.stringify(order),
    [`${broken}/certificate.pem`]: `${pair.key.trimEnd()}\n${pair.cert}`,
    [`${broken}/record.json`]: '{"failures": "many", "orders": [1, "x"]',
    [`${broken}/order.json`]: '{"url": 7}',
    [`requests/${waiting}`]: '',
    'notes.test': 'a file where the folder of a name is expected',
  })
  const faults: string[] = []
  const onFault = (one: string): unknown => faults.push(one)
  const run = (): Promise<void> => importFiles({ commit: database.commit, dataFolder, now: 9, onFault })
  await run()
  const { read } = database
  const leases = new NameLeases({ ...database, clock: () => 9, holder: 'this' })
  t.same(await new AccountRows(database).readAccount(directory), account)
  const stored = await readPair(read, name)
  t.same([stored?.cert.trim(), stored?.key.trim()], [pair.cert.trim(), pair.key.trim()])
  t.same(await readState(read, name), { record, isAsked: false, updatedAt: 9 })
  t.same(await readState(read, waiting), { ...newNameState, isAsked: true, updatedAt: 9 })
  t.same(await leases.readOrder(waiting), order)
  t.equal(await readPair(read, broken), null, 'its certificate is for another name')
  t.same(faults, [broken])
  t.same((await readState(read, broken)).record, newNameRecord)
  t.equal(await leases.readOrder(broken), null)
  t.equal(existsSync(folder), false)
  t.ok(existsSync(`${folder}-not-used/${broken}/certificate.pem`), 'what cannot be used is kept')
  await run()
  t.equal((await readStates(read)).size, 4)
})

t.test('what the database has already stays', async (t) => {
  const { database } = await temporaryDatabase(t)
  const dataFolder = temporaryFolder(t)
  const [old, current] = [await createSelfSigned([name]), await createSelfSigned([name])]
  const run = async (files: Readonly<Record<string, string>>): Promise<void> => {
    writeFiles(dataFolder, files)
    await importFiles({ commit: database.commit, dataFolder, now: 9, onFault: (one) => t.fail(one) })
  }
  await run({
    [`${name}/certificate.pem`]: `${current.key.trimEnd()}\n${current.cert}`,
    [`${name}/record.json`]: JSON.stringify(record),
    'account-1.json': JSON.stringify({ directory: directory.href, ...account }),
  })
  await run({
    [`${name}/certificate.pem`]: `${old.key.trimEnd()}\n${old.cert}`,
    [`${name}/record.json`]: JSON.stringify({ ...record, failures: 9 }),
    'account-1.json': JSON.stringify({ directory: directory.href, url: 'https://acme.test/account/2', key: 'other' }),
  })
  t.equal((await readPair(database.read, name))?.cert.trim(), current.cert.trim())
  t.same((await readState(database.read, name)).record, record)
  t.same(await new AccountRows(database).readAccount(directory), account)
})
