/** Wires the submission listener to the rooms below it. */

import type { ApiKeyCache } from '../accounts/keys/api-key-cache.js'
import { buildRateRefusal, type RateLimit } from '../accounts/limits/rate-limit.js'
import { permissionFor } from '../accounts/permissions.js'
import { createKeylessPrincipal, type Principal } from '../accounts/principal.js'
import type { Config } from '../config/complete.js'
import type { SendingDomainCache } from '../domains/sending-domain-cache.js'
import { Refusal } from '../mail/refusal.js'
import type { Clock } from '../platform/clock.js'
import { isInSomeNetwork } from '../platform/ip-address.js'
import type { Log } from '../platform/log.js'
import type { TlsFiles } from '../platform/tls-files.js'
import type { AcceptSubmission } from '../sending/accept-submission.js'
import { checkEnvelopeSender } from '../sending/sender-policy.js'
import { defaultSubmissionLimits, type SubmissionSettings } from '../smtp/submission/submission-deps.js'
import { type SubmissionListener, startSubmissionListener } from '../smtp/submission/submission-listener.js'
import type { MessageMemory } from './message-memory.js'

export interface SubmissionParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly tls: TlsFiles
  readonly keyRing: ApiKeyCache
  readonly domains: SendingDomainCache
  /** By workspace: each message counts as one request. */
  readonly requests: RateLimit
  readonly accept: AcceptSubmission
  readonly mayTake: () => boolean
  readonly memory: Pick<MessageMemory, 'submission'>
}

export function openSubmission(parts: SubmissionParts): Promise<SubmissionListener> {
  const { config, clock, log, keyRing, domains, requests, accept, mayTake: hasDiskSpace } = parts
  return startSubmissionListener({
    authenticate: (password, address) => authenticateSender(keyRing, password, address),
    trusted: (address) => findTrustedPrincipal(config, address),
    checkSender: (principal, sender) => {
      if (!keyRing.isStillValid(principal)) throw new Refusal('unavailable', 'the key is no longer valid')
      const rate = requests.take(principal.workspaceId, clock())
      if (!rate.allowed) throw buildRateRefusal(rate)
      checkEnvelopeSender(principal, sender, domains.findVerified)
    },
    accept,
    hasDiskSpace,
    memory: parts.memory.submission,
    clock,
    log,
    settings: submissionSettings(config, parts.tls),
  })
}

function submissionSettings({ service, submission }: Config, { cert, key }: TlsFiles): SubmissionSettings {
  return {
    ...defaultSubmissionLimits,
    hostname: service.hostname,
    listen: submission.listen,
    listenTls: submission.listen_tls,
    tls: { cert, key },
    allowPlaintextLoopback: submission.allow_plaintext_loopback,
    maxConnections: submission.max_connections,
    maxConnectionsPerAddress: submission.max_connections_per_address,
    maxConnectionsPerNetwork: submission.max_connections_per_network,
    handshakeTimeout: submission.auth_timeout,
    loginTimeout: submission.auth_timeout,
    dataPace: { bytesPerSecond: submission.min_data_rate, patience: submission.min_data_rate_patience },
    maxSize: submission.max_size,
    maxRecipients: submission.max_recipients,
    maxLineLength: submission.max_line_length,
    sessionDeadline: submission.session_deadline,
  }
}

/** To SMTP every fault of a key is one of authentication: 535. */
function authenticateSender(keyRing: ApiKeyCache, password: string, address: string): Principal {
  const principal = admitKey(keyRing, password, address)
  if (permissionFor(principal, 'send') !== 'yes') throw new Refusal('bad-credentials', 'the key lacks the scope "send"')
  return principal
}

function admitKey(keyRing: ApiKeyCache, password: string, address: string): Principal {
  try {
    return keyRing.authenticate(password, address)
  } catch (error) {
    throw error instanceof Refusal ? new Refusal('bad-credentials', error.message) : error
  }
}

/** The first network that holds the address decides. */
function findTrustedPrincipal({ submission }: Config, address: string): Principal | null {
  const network = submission.trusted.find((trusted) => isInSomeNetwork([trusted.network], address))
  return network === undefined ? null : createKeylessPrincipal(network.workspace)
}
