/**
 * Accepts a message from the MX listener: applies the policy to its authentication results, adds trace fields, and
 * stores one copy for each workspace that it is addressed to. It resolves when all copies are on disk, in one
 * commit; the content is processed afterwards (`inbound-processor.ts`).
 *
 * A recipient that is no longer valid is never dropped silently: the whole message is deferred, and at the
 * client's next attempt the RCPT is refused.
 */
import { type InboundBytesReader, requireRoom } from '../accounts/limits/inbound-bytes.js'
import { defaultInboundPolicy } from '../domains/inbound-policy.js'
import { type Address, type DomainName, formatForDisplay } from '../mail/address.js'
import type { Authentication, Connection } from '../mail/authentication-results.js'
import { summarizeResults } from '../mail/authentication-results.js'
import { toRecipientLogFields } from '../mail/recipient-log-fields.js'
import { Refusal } from '../mail/refusal.js'
import {
  type InboundEmail,
  type NewInbound,
  storeUnprocessed,
  toUnprocessed,
} from '../messages/inbound/inbound-email.js'
import type { Clock } from '../platform/clock.js'
import { uuidv7 } from '../platform/ids.js'
import type { Log } from '../platform/log.js'
import { freeMemory } from '../platform/memory/free-memory.js'
import { toJson } from '../storage/tables/columns.js'
import type { InboundPolicy } from '../storage/tables/domain-tables.js'
import type { Arrival } from '../storage/tables/inbound-tables.js'
import { SERVICE_WORKSPACE } from '../storage/tables/tables.js'
import { type Commit, MovedBytes, tryCommit } from '../storage/writer/write.js'
import type { AcceptanceDecision, DmarcSetting } from './authentication/acceptance-policy.js'
import type { Authenticate } from './authentication/authentication-thread.js'
import { decideForRecipients } from './authentication/recipient-decisions.js'
import { formatAuthenticationResults, formatReceivedSpf } from './authentication/result-fields.js'
import { type Destination, type OperatorWorkspace, resolveDestinations } from './destinations.js'
import type { IsSpamForAll } from './early-score.js'
import { type FreshMail, toFreshMail } from './fresh-mail.js'
import type { ReceivedMessage } from './received-message.js'
import type { InboundRecipient } from './recipient-policy.js'
import { buildTooLarge, isTooLargeFor } from './system-mail.js'
import { type Trace, withTrace } from './trace-fields.js'

export interface AcceptInboundDeps {
  readonly commit: Commit
  readonly clock: Clock
  readonly log: Pick<Log, 'info'>
  /** Our own: the authserv-id of our results. */
  readonly hostname: string
  readonly dmarc: DmarcSetting
  readonly authenticate: Authenticate
  readonly recipientOf: (address: Address) => InboundRecipient
  readonly operatorWorkspace: () => OperatorWorkspace
  /** What a receiving domain asks; the defaults for any other. */
  readonly policyOf: (domain: DomainName) => InboundPolicy
  /** Asked if all recipients refuse spam. */
  readonly isSpamForAll: IsSpamForAll
  /** Stored bytes of workspaces, and of the service, which stores reports. */
  readonly inboundBytes: InboundBytesReader
  /** A new message of the workspace is on disk; reports belong to the service. */
  readonly onStored: (workspaceId: string, fresh: FreshMail) => void
}

export type AcceptInbound = (message: ReceivedMessage) => Promise<{ readonly id: string }>

/** One copy of the message. */
interface InboundCopy {
  readonly id: string
  readonly destination: Destination
  readonly message: ReceivedMessage
  readonly trace: Omit<Trace, 'id' | 'recipient'>
  readonly authentication: Authentication
  readonly arrival: Arrival
}

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
  const { destinations, ignoredAddresses, goneAddresses } = resolveDestinations(
    recipients,
    deps.recipientOf,
    deps.operatorWorkspace,
  )
  if (goneAddresses.length > 0) throw new Refusal('unavailable', 'a recipient has just been removed, try again later')
  const scored = { message, authentication, destinations, arrival: toArrival(message, null), now }
  if (decisions.refusesSpam && (await deps.isSpamForAll(scored))) throw buildSpamRefusal()
  const copies = destinations.map((destination): InboundCopy => {
    const arrival = toArrival(message, decisions.spamReasonOf(destination.addresses))
    return { id: uuidv7(now), destination, message, trace, authentication, arrival }
  })
  const stored = copies.length === 0 ? [] : await storeCopies(deps, copies)
  for (const { email, bytes } of stored) deps.onStored(email.workspace_id, toFreshMail(email, bytes))
  discarded.times += ignoredAddresses.length
  logAccepted(
    deps,
    copies,
    { client, envelopeFrom, recipients, bytes },
    ignoredAddresses.length === 0 ? null : discarded.times,
  )
  return { id: copies[0]?.id ?? uuidv7(now) }
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

/** The record and the bytes of a copy, in the commit or on disk. */
interface StoredCopy {
  readonly email: InboundEmail
  readonly bytes: MovedBytes
}

/** Stores all copies in one commit, or none: if one workspace has no room, the message is refused temporarily. */
async function storeCopies(
  { commit, inboundBytes, log }: AcceptInboundDeps,
  copies: readonly InboundCopy[],
): Promise<readonly StoredCopy[]> {
  const stored = copies.map((copy): StoredCopy => {
    const bytes = buildStoredBytes(copy)
    return { email: toUnprocessed(recordOf(copy), bytes.length), bytes }
  })
  const rooms = stored.flatMap(({ email: { workspace_id: workspaceId, size } }) => {
    const { limit } = inboundBytes(workspaceId)
    return limit === null ? [] : [requireRoom({ workspaceId, bytes: size, limit })]
  })
  const writes = stored.flatMap(({ email, bytes }) => storeUnprocessed(email, bytes))
  if (await tryCommit(commit([...rooms, ...writes]))) return stored
  log.info(
    { session: copies[0]?.message.client.session, workspaces: stored.map(({ email }) => email.workspace_id) },
    'a message was refused: no room for inbound mail',
  )
  throw new Refusal('mailbox-full', 'the mailbox has no room for the message now')
}

function buildStoredBytes({ id, destination, message: { raw, header }, trace }: InboundCopy): MovedBytes {
  // A list of several would disclose each to the others.
  const [first, ...others] = destination.addresses
  const recipient = others.length === 0 ? (first ?? null) : null
  return new MovedBytes(withTrace(raw, header, { ...trace, id, recipient }))
}

function recordOf({ id, destination, message, trace, authentication, arrival }: InboundCopy): NewInbound {
  const { envelopeFrom, client } = message
  return {
    id,
    kind: destination.kind,
    workspace_id: ownerOf(destination),
    domain: destination.kind === 'mail' ? destination.domain : '',
    envelope_from: envelopeFrom,
    envelope_to: toJson(destination.addresses),
    client_address: client.address,
    helo: client.helo,
    ...summarizeResults(authentication),
    authentication: toJson(authentication),
    arrival,
    received_at: trace.now,
  }
}

function ownerOf(to: Destination): string {
  return to.kind === 'mail' ? to.workspaceId : SERVICE_WORKSPACE
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
  if (copies.length > 0) log.info({ ...facts, inbound: copies.map(({ id }) => id) }, 'a message was accepted')
  if (discarded !== null)
    log.info({ ...facts, times: discarded }, 'mail to a return path that is none of ours was let go')
}
