/** What an order leaves behind when the disk takes no more. The journeys run the whole runner against Pebble. */
import t from 'tap'
import type { CertificateFiles } from '../../src/certificates/certificate-files.js'
import { CertificateRunner } from '../../src/certificates/certificate-runner.js'
import { newNameRecord } from '../../src/certificates/name-record.js'
import { OrderLimits } from '../../src/certificates/order-limits.js'
import { readCertificateFacts } from '../../src/certificates/renewal-plan.js'
import type { RenewalWindows } from '../../src/certificates/renewal-windows.js'
import type { ServedCertificates } from '../../src/certificates/served-certificates.js'
import { parseDomainName } from '../../src/mail/address.js'
import type { Log } from '../../src/platform/log.js'
import { createSelfSigned } from '../helpers/certificates.js'
import { waitUntil } from '../helpers/wait-until.js'

const ignore = (): void => undefined
const log = { info: ignore, warn: ignore, error: ignore }
const name = parseDomainName('mail.example.test')

t.test('a certificate whose record cannot be written is served', async (t) => {
  const pair = await createSelfSigned([name])
  const full = async (): Promise<never> => {
    throw new Error('no space left on device')
  }
  const files = {
    readRecord: async () => newNameRecord,
    listRequests: async () => [],
    listNames: async () => [],
    removeOrder: full,
    storeRecord: full,
  }
  let isStored = false
  const served = {
    factsOf: () => (isStored ? readCertificateFacts(pair.cert) : null),
    replace: async () => {
      isStored = true
    },
  }
  const issued: string[] = []
  const windows = { refresh: async () => undefined, windowOf: () => null, forget: () => undefined }
  const runner = new CertificateRunner({
    files: files as unknown as CertificateFiles,
    served: served as unknown as ServedCertificates,
    windows: windows as unknown as RenewalWindows,
    limits: new OrderLimits(),
    clock: Date.now,
    random: () => 0,
    log: log as unknown as Log,
    listNames: async () => ({ service: [name], mailHosts: [] }),
    checkName: async () => null,
    order: async () => pair,
    onIssued: (one) => issued.push(one),
  })
  t.teardown(() => runner.stop())
  runner.start(() => undefined)
  await waitUntil('the certificate', () => issued.length === 1)
  t.same(issued, [name])
})
