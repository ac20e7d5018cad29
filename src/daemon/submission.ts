/** Wires the submission listener to the rooms below it. */
import { contains } from '../accounts/keys/key-check.js'
import type { KeyRing } from '../accounts/keys/key-ring.js'
import { type RateLimit, tooFast } from '../accounts/limits/rate-limit.js'
import { permission } from '../accounts/permissions.js'
import { keylessSender, type Principal } from '../accounts/principal.js'
import type { Config } from '../config/complete.js'
import type { DomainBook } from '../domains/domain-book.js'
import { Refusal } from '../mail/refusal.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { TlsFiles } from '../platform/tls-files.js'
import type { Accept } from '../sending/accept.js'
import { checkSender } from '../sending/sender-policy.js'
import { listenForSubmissions, type SubmissionListener } from '../smtp/submission.js'
import { type SubmissionSettings, submissionLimits } from '../smtp/submission-deps.js'
import type { MessageMemory } from './message-memory.js'

export interface SubmissionParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly tls: TlsFiles
  readonly keyRing: KeyRing
  readonly domains: DomainBook
  /** By workspace: each message counts as one request. */
  readonly requests: RateLimit
  readonly accept: Accept
  readonly mayTake: () => boolean
  readonly memory: Pick<MessageMemory, 'submission'>
}

export function openSubmission(parts: SubmissionParts): Promise<SubmissionListener> {
  const { config, clock, log, keyRing, domains, requests, accept, mayTake } = parts
  return listenForSubmissions({
    authenticate: (password, address) => sender(keyRing, password, address),
    trusted: (address) => trustedPrincipal(config, address),
    checkSender: (principal, sender) => {
      if (!keyRing.stillValid(principal)) throw new Refusal('unavailable', 'the key is no longer valid')
      const rate = requests.take(principal.workspaceId, clock())
      if (!rate.allowed) throw tooFast(rate)
      if (sender === '') return
      checkSender(principal, sender, 'sender', (workspace, domain) => domains.verified(workspace, domain) !== undefined)
    },
    accept,
    mayTake,
    memory: parts.memory.submission,
    clock,
    log,
    settings: settings(config, parts.tls),
  })
}

function settings({ service, submission }: Config, { cert, key }: TlsFiles): SubmissionSettings {
  return {
    ...submissionLimits,
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
function sender(keyRing: KeyRing, password: string, address: string): Principal {
  const principal = authenticated(keyRing, password, address)
  if (permission(principal, 'send') !== 'yes') throw new Refusal('bad-credentials', 'the key lacks the scope "send"')
  return principal
}

function authenticated(keyRing: KeyRing, password: string, address: string): Principal {
  try {
    return keyRing.admit(password, address)
  } catch (error) {
    throw error instanceof Refusal ? new Refusal('bad-credentials', error.message) : error
  }
}

/** The first network that holds the address decides. */
function trustedPrincipal({ submission }: Config, address: string): Principal | null {
  const network = submission.trusted.find((trusted) => contains(trusted.network, address))
  return network === undefined ? null : keylessSender(network.workspace)
}
