/** Wires the submission listener to the rooms below it. */
import type { ApiKeyCache } from '../accounts/keys/api-key-cache.js'
import { authenticateSender, findTrustedPrincipal } from '../accounts/keys/submission-principal.js'
import { buildRateRefusal, type RateLimit } from '../accounts/limits/rate-limit.js'
import type { ReadSettings, StartSettings } from '../config/live-config.js'
import type { SendingDomainCache } from '../domains/sending-domain-cache.js'
import { Refusal } from '../mail/refusal.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { ListenerTls } from '../platform/tls-files.js'
import type { AcceptSubmission } from '../sending/accept-submission.js'
import { checkEnvelopeSender } from '../sending/sender-policy.js'
import { type SubmissionListener, startSubmissionListener } from '../smtp/submission/submission-listener.js'
import type { MessageMemory } from './message-memory.js'

interface SubmissionDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly tls: ListenerTls
  readonly apiKeyCache: ApiKeyCache
  readonly domains: SendingDomainCache
  /** By workspace: each message counts as one request. */
  readonly requests: RateLimit
  readonly accept: AcceptSubmission
  readonly hasDiskSpace: () => boolean
  readonly observers: Observers | null
  readonly memory: Pick<MessageMemory, 'submission'>
}

export function openSubmissionListener(deps: SubmissionDeps): Promise<SubmissionListener> {
  const { config, settings, clock, log, apiKeyCache, domains, requests, accept, hasDiskSpace } = deps
  return startSubmissionListener({
    authenticate: (password, address) => authenticateSender(apiKeyCache, password, address),
    trusted: (address) => findTrustedPrincipal(settings().submission, address),
    checkSender: (principal, sender) => {
      if (!apiKeyCache.isStillValid(principal)) throw new Refusal('unavailable', 'the key is no longer valid')
      const rate = requests.take(principal.workspaceId, clock())
      if (!rate.allowed) throw buildRateRefusal(rate)
      checkEnvelopeSender(principal, sender, domains.findVerified)
    },
    accept,
    hasDiskSpace,
    memory: deps.memory.submission,
    observer: deps.observers?.observeListener('submission') ?? null,
    clock,
    log,
    hostname: config.service.hostname,
    tls: deps.tls,
    settings: () => settings().submission,
  })
}
