/** What an order leaves behind when the disk takes no more. The journeys run the whole runner against Pebble. */
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import type { Log } from '../../../src/base/platform/log.js'
import type { CertificateFiles } from '../../../src/operations/certificates/certificate-files.js'
import { CertificateRunner } from '../../../src/operations/certificates/certificate-runner.js'
import { newNameRecord } from '../../../src/operations/certificates/name-record.js'
import { OrderLimits } from '../../../src/operations/certificates/order-limits.js'
import { readCertificateFacts } from '../../../src/operations/certificates/renewal-plan.js'
import type { RenewalWindows } from '../../../src/operations/certificates/renewal-windows.js'
import type { ServedCertificates } from '../../../src/operations/certificates/served-certificates.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { waitUntil } from '../../helpers/wait-until.js'

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
