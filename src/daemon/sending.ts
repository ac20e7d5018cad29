/** Wires sending: from a submission or a request to a queued message. */
import type { DomainName } from '../mail/address.js'
import type { TlsFiles } from '../platform/tls-files.js'
import { type CommitEmails, createEmailCommitter } from '../sending/commit-emails.js'
import type { ComposeThread } from '../sending/compose-thread.js'
import { createEmailPreparer, type PrepareEmail } from '../sending/prepare-email.js'
import type { FindVerifiedDomain } from '../sending/sender-policy.js'
import type { Database } from '../storage/database.js'
import { type BeginTracking, createEmailTracker } from '../tracking/track-email.js'
import { createTrackingHost, type TrackingBaseFor } from '../tracking/tracking-host.js'
import type { StartOptions } from './daemon-options.js'
import type { Services } from './services.js'

interface SendingDeps extends Pick<StartOptions, 'config' | 'clock'> {
  /** The certificate that is served now. */
  readonly served: Pick<TlsFiles, 'cert'>
  readonly servesName: (name: DomainName) => boolean
}

interface Sending {
  readonly prepare: PrepareEmail
  readonly findVerifiedDomain: FindVerifiedDomain
  readonly commitEmails: CommitEmails
  readonly beginTracking: BeginTracking
  readonly composeLarge: ComposeThread['compose']
  readonly renderLarge: ComposeThread['render']
  readonly previewLarge: ComposeThread['preview']
  readonly trackingBaseFor: TrackingBaseFor
}

export function wireSending(
  { config: { service, api }, clock, served, servesName }: SendingDeps,
  { read, commit }: Database,
  { suppressions: { findReason }, domains, limits: { charge }, delivery: { runner } }: Services,
  composing: ComposeThread,
): Sending {
  const { hostname, public_url: publicUrl } = service
  const claim = runner.claim.bind(runner)
  const servesTls = api.listen.some(({ kind }) => kind === 'tls')
  const certificateOf = (): string => served.cert
  const trackingBaseFor = createTrackingHost({ publicUrl, servesTls, certificateOf, servesName, clock })
  const beginTracking = createEmailTracker({ trackingBaseFor, publicUrl })
  const findVerifiedDomain = domains.findVerified
  return {
    prepare: createEmailPreparer({ findSuppressionReason: findReason, hostname, findVerifiedDomain, beginTracking }),
    findVerifiedDomain,
    commitEmails: createEmailCommitter({ read, commit, charge, claim, handOver: runner.offer.bind(runner) }),
    beginTracking,
    composeLarge: (job) => composing.compose(job),
    renderLarge: (job) => composing.render(job),
    previewLarge: (job) => composing.preview(job),
    trackingBaseFor,
  }
}
