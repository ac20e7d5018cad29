/**
 * Accepts a message from the MX listener: applies the policy to its authentication results, adds trace fields, and
 * stores one copy for each workspace that it is addressed to. It resolves when all copies are on disk, in one
 * commit. A small message with one copy is processed before, and its results are in that commit; the content of any
 * other is processed afterwards (`inbound-processor.ts`).
 *
 * A recipient that is no longer valid is never dropped silently: the whole message is deferred, and at the
 * client's next attempt the RCPT is refused.
 */
import type { InboundBytesReader } from '../accounts/limits/inbound-bytes.js'
import { defaultInboundPolicy } from '../domains/inbound-policy.js'
import { type Address, type DomainName, formatForDisplay } from '../mail/address.js'
import type { Authentication, Connection } from '../mail/authentication-results.js'
import { toRecipientLogFields } from '../mail/recipient-log-fields.js'
import { Refusal } from '../mail/refusal.js'
import type { Clock } from '../platform/clock.js'
import { uuidv7 } from '../platform/ids.js'
import type { Log } from '../platform/log.js'
import { freeMemory } from '../platform/memory/free-memory.js'
import type { InboundPolicy } from '../storage/tables/domain-tables.js'
import type { Arrival } from '../storage/tables/inbound-tables.js'
import type { Commit } from '../storage/writer/write.js'
import type { AcceptanceDecision, DmarcSetting } from './authentication/acceptance-policy.js'
import type { Authenticate } from './authentication/authentication-thread.js'
import { decideForRecipients } from './authentication/recipient-decisions.js'
import { formatAuthenticationResults, formatReceivedSpf } from './authentication/result-fields.js'
import { type Destinations, type OperatorWorkspace, resolveDestinations } from './destinations.js'
import type { IsSpamForAll, ScoredMessage } from './early-score.js'
import { buildCopy, type InboundCopy, storeCopies } from './inbound-copies.js'
import { mayBeProcessedEarly, type ProcessEarly } from './process-early.js'
import type { ProcessedMail } from './process-mail.js'
import type { ReceivedMessage } from './received-message.js'
import type { InboundRecipient } from './recipient-policy.js'
import { buildTooLarge, isTooLargeFor } from './system-mail.js'
import type { Trace } from './trace-fields.js'

export interface AcceptInboundDeps {
  readonly commit: Commit
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'error'>
  /** Our own: the authserv-id of our results. */
  readonly hostname: string
  readonly dmarc: DmarcSetting
  readonly authenticate: Authenticate
  readonly recipientOf: (address: Address) => InboundRecipient
  readonly operatorWorkspace: () => OperatorWorkspace
  /** What a receiving domain asks; the defaults for any other. */
  readonly policyOf: (domain: DomainName) => InboundPolicy
  /** Asked of a message with one copy. */
  readonly processEarly: ProcessEarly
  /** Asked of any other if all recipients refuse spam. */
  readonly isSpamForAll: IsSpamForAll
  /** Stored bytes of workspaces, and of the service, which stores reports. */
  readonly inboundBytes: InboundBytesReader
  /** A message of the workspace is on disk and is to be processed; reports belong to the service. */
  readonly onStored: (workspaceId: string) => void
}

export type AcceptInbound = (message: ReceivedMessage) => Promise<{ readonly id: string }>

/** Rejects with a `Refusal` if the message is not accepted, and with a storage fault. */
export function createAcceptInbound(deps: AcceptInboundDeps): AcceptInbound {
  const ignoredReturnPaths = { times: 0 }
  return async (received) => {
    const { client, envelopeFrom, recipients } = received
    const bytes = received.raw.length
    const classified = recipients.map(deps.recipientOf)
    if (classified.some((recipient) => isTooLargeFor(recipient, bytes))) throw buildTooLarge(classified)
    const connection = { clientAddress: client.address, helo: client.helo, envelopeFrom, hostname: deps.hostname }
    const { authentication, raw } = await deps.authenticate(received.raw, received.header, connection)
    try {
      return await acceptAuthenticated(deps, { ...received, raw }, authentication, connection, ignoredReturnPaths)
    } finally {
      freeMemory(raw) // unless it was moved to the writer
    }
  }
}

/** `discarded`: messages to return paths that are not ours, since the start. */
async function acceptAuthenticated(
  deps: AcceptInboundDeps,
  message: ReceivedMessage,
  authentication: Authentication,
  connection: Connection,
  discarded: { times: number },
): Promise<{ readonly id: string }> {
  const { client, envelopeFrom, recipients } = message
  const bytes = message.raw.length
  const decisions = decideForRecipients(authentication, recipients, (address) => findPolicy(deps, address), deps.dmarc)
  requireAuthenticated(decisions.message)
  const now = deps.clock()
  const trace = { ...traceOf(message, deps.hostname, now), results: buildResultFields(authentication, connection) }
  const { destinations, ignoredAddresses } = findDestinations(deps, recipients)
  const copies = destinations.map((destination): InboundCopy => {
    const arrival = toArrival(message, decisions.spamReasonOf(destination.addresses))
    return buildCopy({ id: uuidv7(now), destination, message, trace, authentication, arrival })
  })
  const scored = { message, authentication, destinations, arrival: toArrival(message, null), now }
  const processed = await processBeforeAnswer(deps, scored, copies, decisions.refusesSpam)
  findDestinations(deps, recipients) // again: time has passed
  if (copies.length > 0) await store(deps, message, copies, processed)
  discarded.times += ignoredAddresses.length
  logAccepted(
    deps,
    copies,
    { client, envelopeFrom, recipients, bytes },
    ignoredAddresses.length === 0 ? null : discarded.times,
  )
  return { id: copies[0]?.email.id ?? uuidv7(now) }
}

/** Throws a Refusal if a recipient is no longer valid. */
function findDestinations(deps: AcceptInboundDeps, recipients: readonly Address[]): Destinations {
  const found = resolveDestinations(recipients, deps.recipientOf, deps.operatorWorkspace)
  if (found.goneAddresses.length === 0) return found
  throw new Refusal('unavailable', 'a recipient has just been removed, try again later')
}

/** Null: the copies are processed after the answer. Throws a Refusal of spam that all recipients refuse. */
async function processBeforeAnswer(
  deps: AcceptInboundDeps,
  scored: ScoredMessage,
  copies: readonly InboundCopy[],
  refusesSpam: boolean,
): Promise<ProcessedMail | null> {
  const [only] = copies
  const isAsked = only !== undefined && copies.length === 1 && mayBeProcessedEarly(only)
  const processed = isAsked ? await deps.processEarly(scored.message, only, refusesSpam) : null
  if (!refusesSpam) return processed
  const isSpam = isAsked ? processed?.content.spam_status === 'spam' : await deps.isSpamForAll(scored)
  if (isSpam) throw buildSpamRefusal()
  return processed
}

async function store(
  deps: AcceptInboundDeps,
  { client }: ReceivedMessage,
  copies: readonly InboundCopy[],
  processed: ProcessedMail | null,
): Promise<void> {
  const isProcessed = await storeCopies(deps, copies, processed, client.session)
  if (processed !== null && isProcessed) processed.onCommitted()
  else for (const { email } of copies) deps.onStored(email.workspace_id)
}

function requireAuthenticated(decision: AcceptanceDecision): void {
  if (decision.kind !== 'refuse') return
  throw new Refusal('sender-not-authenticated', decision.text, { reason: decision.reason })
}

function buildSpamRefusal(): Refusal {
  return new Refusal('forbidden', 'the message is taken for spam', { reason: 'spam-score' })
}

function toArrival({ client, requiresTls = false }: ReceivedMessage, spamReason: string | null): Arrival {
  const { earlyTalker, listings, allowListings } = client
  return { earlyTalker, listings, allowListings, spamReason, ...(requiresTls ? { requiresTls } : {}) }
}

/** An address that is no mailbox has the defaults. */
function findPolicy({ recipientOf, policyOf }: AcceptInboundDeps, address: Address): InboundPolicy {
  const recipient = recipientOf(address)
  return recipient.kind === 'mailbox' ? policyOf(recipient.domain) : defaultInboundPolicy
}

function traceOf({ envelopeFrom, client, protocol, tls }: ReceivedMessage, hostname: string, now: number) {
  return { returnPath: envelopeFrom, helo: client.helo, address: client.address, hostname, protocol, tls, now }
}

function buildResultFields(found: Authentication, connection: Connection): Trace['results'] {
  return [
    { name: 'Authentication-Results', value: formatAuthenticationResults(found, connection) },
    { name: 'Received-SPF', value: formatReceivedSpf(found, connection) },
  ]
}

/** `bytes`: size of the message, which may have left memory by now. */
type AcceptedFacts = Pick<ReceivedMessage, 'client' | 'envelopeFrom' | 'recipients'> & { readonly bytes: number }

/** `discarded`: messages to invalid return paths since the start; null if this message has none. */
function logAccepted(
  { log }: AcceptInboundDeps,
  copies: readonly InboundCopy[],
  { client, envelopeFrom, recipients, bytes }: AcceptedFacts,
  discarded: number | null,
): void {
  const facts = {
    client: client.address,
    session: client.session,
    helo: formatForDisplay(client.helo),
    from: envelopeFrom,
    ...toRecipientLogFields(recipients),
    bytes,
  }
  if (copies.length > 0) log.info({ ...facts, inbound: copies.map(({ email }) => email.id) }, 'a message was accepted')
  if (discarded !== null)
    log.info({ ...facts, times: discarded }, 'mail to a return path that is none of ours was let go')
}
