/**
 * Accepts a message from the MX listener: applies the policy to its authentication results, adds trace fields, and
 * stores one copy for each workspace that it is addressed to. It resolves when all copies are on disk, in one
 * commit. A small message with one copy is processed before, and its results are in that commit; the content of any
 * other is processed afterwards (`inbound-processor.ts`).
 *
 * A recipient that is no longer valid is never dropped silently: the whole message is deferred, and at the
 * client's next attempt the RCPT is refused.
 */
import type { InboundBytes } from '../accounts/limits/inbound-bytes.js'
import { defaultInboundPolicy } from '../domains/inbound-policy.js'
import { type Address, type DomainName, formatForDisplay } from '../mail/address.js'
import type { Connection } from '../mail/authentication-results.js'
import type { Header } from '../mail/header-fields.js'
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
import { decideForRecipients } from './authentication/recipient-decisions.js'
import { buildResultFields } from './authentication/result-fields.js'
import { type CopyPlan, findOnlyMail, type OnlyMail, planCopies } from './copy-plan.js'
import { type Destinations, type OperatorWorkspace, resolveDestinations } from './destinations.js'
import type { IsSpamForAll, ScoredMessage } from './early-score.js'
import { buildCopy, type InboundCopy, storeCopies } from './inbound-copies.js'
import { mayBeProcessedEarly, type ProcessEarly } from './process-early.js'
import type { ProcessedMail } from './process-mail.js'
import type { ReceivedMessage } from './received-message.js'
import type { InboundRecipient } from './recipient-policy.js'
import { buildTooLarge, isTooLargeFor } from './system-mail.js'
import { type CheckedMessage, MOVE_THRESHOLD } from './threads/message-thread.js'
import type { StoredForm } from './threads/packed-form.js'

/** `asked`: the only copy of a small message, whose stored form is asked for. As `Authenticate` otherwise. */
export type AuthenticateInbound = (
  raw: Buffer,
  header: Header,
  connection: Connection,
  asked: OnlyMail | null,
) => Promise<CheckedMessage>

/**
 * Milliseconds for which a plan holds. It says when a message came and who gets it; a check that waits for DNS may take
 * much longer.
 */
const MAX_PLAN_AGE = 1_000

export interface AcceptInboundDeps {
  readonly commit: Commit
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'error'>
  /** Our own: the authserv-id of our results. */
  readonly hostname: string
  readonly dmarcSetting: () => DmarcSetting
  readonly authenticate: AuthenticateInbound
  readonly recipientOf: (address: Address) => InboundRecipient
  readonly operatorWorkspace: () => OperatorWorkspace
  /** What a receiving domain asks; the defaults for any other. */
  readonly policyOf: (domain: DomainName) => InboundPolicy
  /** Asked of a message with one copy. */
  readonly processEarly: ProcessEarly
  /** Asked of any other if all recipients refuse spam. */
  readonly isSpamForAll: IsSpamForAll
  /** Stored bytes of workspaces, and of the service, which stores reports. */
  readonly inboundBytes: Pick<InboundBytes, 'limitNow'>
  /** A message of the workspace is on disk and is to be processed; reports belong to the service. */
  readonly onStored: (workspaceId: string) => void
}

export type AcceptInbound = (message: ReceivedMessage) => Promise<{ readonly id: string }>

/** Rejects with a `Refusal` if the message is not accepted, and with a storage fault. */
export function createAcceptInbound(deps: AcceptInboundDeps): AcceptInbound {
  const ignored = { times: 0 }
  return async (received) => {
    const { client, envelopeFrom, recipients } = received
    const bytes = received.raw.length
    const classified = recipients.map(deps.recipientOf)
    if (classified.some((recipient) => isTooLargeFor(recipient, bytes))) throw buildTooLarge(classified)
    const connection = { clientAddress: client.address, helo: client.helo, envelopeFrom, hostname: deps.hostname }
    let { raw } = received
    try {
      const plan = makePlan(deps, received)
      const asked = bytes < MOVE_THRESHOLD ? findOnlyMail(plan) : null
      const checked = await deps.authenticate(raw, received.header, connection, asked)
      raw = checked.raw
      const message = raw === received.raw ? received : { ...received, raw }
      const age = deps.clock() - plan.now
      const isRecent = age >= 0 && age <= MAX_PLAN_AGE
      const planned = isRecent
        ? { message, plan, form: checked.form }
        : { message, plan: makePlan(deps, message), form: null }
      return await acceptAuthenticated(deps, planned, checked, connection, ignored)
    } finally {
      freeMemory(raw) // unless it was moved to the writer
    }
  }
}

interface PlannedMessage {
  readonly message: ReceivedMessage
  readonly plan: CopyPlan
  /** The form in which its only copy is stored; null: it is yet to be made. */
  readonly form: StoredForm | null
}

/** `discarded`: messages to return paths that are not ours, since the start. */
async function acceptAuthenticated(
  deps: AcceptInboundDeps,
  { message, plan, form }: PlannedMessage,
  { authentication, authenticationJson }: Pick<CheckedMessage, 'authentication' | 'authenticationJson'>,
  connection: Connection,
  discarded: { times: number },
): Promise<{ readonly id: string }> {
  const { client, envelopeFrom, recipients } = message
  const { now, ignoredAddresses } = plan
  const bytes = message.raw.length
  const decisions = decideForRecipients(
    authentication,
    recipients,
    (address) => findPolicy(deps, address),
    deps.dmarcSetting(),
  )
  requireAuthenticated(decisions.message)
  const results = form === null ? buildResultFields(authentication, connection) : []
  const copies = plan.copies.map(({ destination, trace }): InboundCopy => {
    const arrival = toArrival(message, decisions.spamReasonOf(destination.addresses))
    return buildCopy({ destination, trace, message, authentication, authenticationJson, results, arrival, form })
  })
  const destinations = plan.copies.map(({ destination }) => destination)
  const scored = { message, authentication, destinations, arrival: toArrival(message, null), now }
  const processed = await processBeforeAnswer(deps, scored, { copies, form }, decisions.refusesSpam)
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
function makePlan(deps: AcceptInboundDeps, message: ReceivedMessage): CopyPlan {
  return planCopies(message, findDestinations(deps, message.recipients), deps.hostname, deps.clock())
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
  { copies, form }: { readonly copies: readonly InboundCopy[]; readonly form: StoredForm | null },
  refusesSpam: boolean,
): Promise<ProcessedMail | null> {
  const [only] = copies
  const isAsked = only !== undefined && copies.length === 1 && mayBeProcessedEarly(only)
  const processed = isAsked ? await deps.processEarly(scored.message, only, form?.content ?? null, refusesSpam) : null
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
    inbound: copies.map(({ email }) => email.id),
    client: client.address,
    session: client.session,
    helo: formatForDisplay(client.helo),
    from: envelopeFrom,
    bytes,
    ...toRecipientLogFields(recipients),
  }
  if (copies.length > 0) log.info(facts, 'a message was accepted')
  if (discarded !== null)
    log.info({ ...facts, times: discarded }, 'mail to a return path that is none of ours was let go')
}
