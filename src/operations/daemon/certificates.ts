/** Starts the work on certificates, with the notices before an expiry and the queue that sends them. */
import type { Config } from '../../base/config/complete.js'
import type { Database } from '../../base/storage/db/database.js'
import type { Delivery } from '../../outbound/delivery/delivery.js'
import type { Certificates } from '../certificates/certificates.js'
import { type CertificateOrigin, composeCertificateNotices } from '../notices/certificate-notice.js'
import type { StartOptions, StopSteps } from './daemon-options.js'
import { systemEdges } from './edges.js'
import type { Listeners } from './listeners.js'

interface Parts {
  readonly database: Database
  readonly delivery: Delivery
  readonly listeners: Listeners
}

export async function startCertificates(
  certificates: Certificates,
  { config, settings, edges }: StartOptions,
  { database, delivery, listeners }: Parts,
  stopSteps: StopSteps,
): Promise<void> {
  const { hostname, mail_from: mailFrom } = config.service
  const { read } = database
  const { resolver, random } = { ...systemEdges(), ...edges }
  stopSteps.push(() => certificates.stop())
  await certificates.start({
    ...{ resolver, random, listeners },
    composeNotices: async (workspaceId, warnings, now) => {
      const about = { read, hostname, mailFrom, origin: originOf(settings()) }
      const notices = await composeCertificateNotices(about, workspaceId, warnings, now)
      return {
        writes: notices.flatMap(({ enqueued }) => enqueued.writes),
        onCommitted: () => {
          for (const { enqueued } of notices) delivery.runner.offer(enqueued)
        },
      }
    },
  })
}

/** It is read for each notice, because a reload may name other files. */
function originOf({ tls }: Config): CertificateOrigin {
  if (tls.acme.enabled) return 'acme'
  return tls.cert_file === null ? 'self-signed' : 'files'
}
