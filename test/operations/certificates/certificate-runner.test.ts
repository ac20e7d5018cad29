/** When names are ordered, by one daemon or several. The journeys run the whole runner against Pebble. */
import t, { type Test } from 'tap'
import { type DomainName, parseDomainName } from '../../../src/base/mail/address.js'
import type { Log } from '../../../src/base/platform/log.js'
import type { TlsPair } from '../../../src/base/platform/tls-files.js'
import type { Store } from '../../../src/base/storage/db/database.js'
import { AcmeProblem } from '../../../src/operations/certificates/acme-problem.js'
import { readFacts, storeCertificate, toCertificateRow } from '../../../src/operations/certificates/certificate-rows.js'
import { CertificateRunner } from '../../../src/operations/certificates/certificate-runner.js'
import { NameLeases } from '../../../src/operations/certificates/name-leases.js'
import { newNameRecord } from '../../../src/operations/certificates/name-record.js'
import { readState, readStates, requestRenewal } from '../../../src/operations/certificates/name-rows.js'
import { OrderLimits } from '../../../src/operations/certificates/order-limits.js'
import type { RenewalWindows } from '../../../src/operations/certificates/renewal-windows.js'
import { ServedCertificates } from '../../../src/operations/certificates/served-certificates.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { waitUntil } from '../../helpers/wait-until.js'

const ignore = (): void => undefined
const log = { info: ignore, warn: ignore, error: ignore }
const name = parseDomainName('mail.example.test')
const DAY = 86_400_000

interface Options {
  readonly store: Pick<Store, 'read' | 'commit'>
  readonly holder?: string
  readonly names?: readonly DomainName[]
  readonly order: () => Promise<TlsPair>
  readonly clock?: () => number
}

function openRunner(t: Test, { store, holder = 'one', names = [name], order, clock = Date.now }: Options) {
  const issued: string[] = []
  const windows = { refresh: async () => undefined, windowOf: () => null, forget: ignore }
  const served = new ServedCertificates({ read: store.read, clock, onFault: (one) => t.fail(one) })
  let looks = 0
  const runner = new CertificateRunner({
    ...{ ...store, served, clock },
    leases: new NameLeases({ ...store, clock, holder }),
    windows: windows as unknown as RenewalWindows,
    limits: new OrderLimits(),
    random: () => 0,
    log: log as unknown as Log,
    listNames: async () => {
      looks += 1
      return { service: names, mailHosts: [] }
    },
    checkName: async () => null,
    order,
    onIssued: (one) => issued.push(one),
  })
  t.teardown(() => runner.stop())
  /** Does what the daemon does when another process has changed something. */
  const look = async (): Promise<void> => {
    const before = looks
    await served.load()
    runner.drop()
    runner.wake()
    await waitUntil('the look', () => looks > before)
  }
  return { runner, served, issued, look }
}

t.test('a certificate that cannot be stored is taken from its order again, and served then', async (t) => {
  const { database } = await temporaryDatabase(t)
  const pair = await createSelfSigned([name])
  let isFull = true
  let orders = 0
  let now = Date.UTC(2026, 10, 23)
  const store: Store = {
    read: database.read,
    commit: async (writes, options) => {
      if (isFull && writes.length > 2) throw new Error('no space left on device')
      return database.commit(writes, options)
    },
  }
  const order = async (): Promise<TlsPair> => {
    orders += 1
    return pair
  }
  const { runner, issued, look } = openRunner(t, { store, order, clock: () => now })
  runner.start(ignore)
  await waitUntil('the fault', () => runner.list()[0]?.last_fault === 'no space left on device')
  t.same([orders, issued, await readFacts(database.read, name)], [1, [], null])
  await look()
  t.equal(orders, 1, 'it waits')
  isFull = false
  now += 3_600_000
  await look()
  await waitUntil('the certificate', () => issued.length === 1)
  t.equal(orders, 2)
  t.match(runner.list(), [{ state: 'valid', last_fault: null }])
})

t.test('two daemons that look at once order a certificate once', async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  const pair = await createSelfSigned([name])
  let orders = 0
  const order = async (): Promise<TlsPair> => {
    orders += 1
    await new Promise((resolve) => setTimeout(resolve, 300))
    return pair
  }
  const one = openRunner(t, { store: database, order })
  const two = openRunner(t, { store: await openAgain(), holder: 'two', order })
  one.runner.start(ignore)
  two.runner.start(ignore)
  await waitUntil('the certificate', () => one.issued.length + two.issued.length === 1)
  const [winner, other] = one.issued.length === 1 ? [one, two] : [two, one]
  await Promise.all([winner.look(), other.look()])
  for (const { runner } of [winner, other]) t.match(runner.list(), [{ state: 'valid', last_fault: null }])
  t.equal(orders, 1)
  t.same(other.issued, [])
})

t.test('a failure of one daemon has the other wait too, and a request does not wait', async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  let orders = 0
  const order = async (): Promise<TlsPair> => {
    orders += 1
    throw new AcmeProblem('caa', 'caa: forbidden', 'name')
  }
  const one = openRunner(t, { store: database, order })
  const two = openRunner(t, { store: await openAgain(), holder: 'two', order })
  one.runner.start(ignore)
  await waitUntil('the failure', async () => (await readState(database.read, name)).record.fault)
  two.runner.start(ignore)
  await waitUntil('what the first has stored', () => two.runner.list()[0]?.last_fault)
  await two.look()
  t.equal(orders, 1)
  await database.commit([requestRenewal({ name, now: Date.now() })])
  await two.look()
  await waitUntil('the second failure', async () => (await readState(database.read, name)).record.failures === 2)
  t.equal(orders, 2)
  t.equal((await readState(database.read, name)).isAsked, false)
})

t.test('a name that is no longer served is removed when its orders no longer count', async (t) => {
  const { database } = await temporaryDatabase(t)
  let now = Date.UTC(2026, 10, 23)
  const gone = parseDomainName('posthorn.gone.test')
  const expired = toCertificateRow(gone, await createSelfSigned([gone], { expired: true }))
  const leases = new NameLeases({ ...database, clock: () => now, holder: 'one' })
  await leases.take(gone)
  await leases.settleOrder(gone, newNameRecord, [storeCertificate(expired)])
  const order = () => Promise.reject(new AcmeProblem('caa', 'caa: forbidden', 'name'))
  const { runner, served, look } = openRunner(t, { store: database, order, clock: () => now })
  await served.load()
  runner.start(ignore)
  await waitUntil('the first look', () => runner.list()[0]?.last_fault)
  await look()
  t.ok((await readStates(database.read)).has(gone))
  now += 9 * DAY
  await look()
  await waitUntil('the removal', async () => !(await readStates(database.read)).has(gone))
  t.equal(await readFacts(database.read, gone), null)
  t.ok((await readStates(database.read)).has(name), 'a name that is served stays')
})
