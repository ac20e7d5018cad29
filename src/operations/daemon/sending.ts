/** Wires sending: from a submission or a request to a queued message. */
import type { TlsFiles } from '../../base/platform/tls-files.js'
import type { Database } from '../../base/storage/db/database.js'
import type { ComposeThread } from '../../outbound/sending/compose-thread.js'
import { EmailCommitter } from '../../outbound/sending/email-committer.js'
import { EmailPreparer } from '../../outbound/sending/email-preparer.js'
import { SubmissionAcceptor } from '../../outbound/sending/submission-acceptor.js'
import { EmailTracker } from '../../outbound/tracking/track-email.js'
import { TrackingHost } from '../../outbound/tracking/tracking-host.js'
import type { Certificates } from '../certificates/certificates.js'
import type { StartOptions } from './daemon-options.js'
import type { Services } from './services.js'

interface SendingDeps extends Pick<StartOptions, 'config' | 'clock'> {
  /** The certificate that is served now. */
  readonly served: Pick<TlsFiles, 'cert'>
  readonly certificates: Certificates
}

export interface Sending {
  readonly acceptor: SubmissionAcceptor
  readonly preparer: EmailPreparer
  readonly committer: EmailCommitter
  readonly tracker: EmailTracker
  readonly composing: ComposeThread
  readonly trackingHost: TrackingHost
}

export function wireSending(
  { config: { service, api }, clock, served, certificates }: SendingDeps,
  { read, commit }: Database,
  { suppressions, domains, limits: { charger }, delivery: { runner: queue } }: Services,
  composing: ComposeThread,
): Sending {
  const { hostname, public_url: publicUrl } = service
  const servesTls = api.listen.some(({ kind }) => kind === 'tls')
  const certificateOf = (): string => served.cert
  const servesName = certificates.servesName.bind(certificates)
  const trackingHost = new TrackingHost({ publicUrl, servesTls, certificateOf, servesName, clock })
  const tracker = new EmailTracker({ trackingHost, publicUrl })
  const preparer = new EmailPreparer({ suppressions, hostname, domains, tracker })
  const committer = new EmailCommitter({ read, commit, charger, queue })
  return {
    ...{ preparer, committer, tracker, composing },
    acceptor: new SubmissionAcceptor({ read, clock, domains, preparer, committer }),
    trackingHost,
  }
}
