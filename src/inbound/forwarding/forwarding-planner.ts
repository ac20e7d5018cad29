/**
 * Plans what forwarding rules do with an inbound email. Its writes queue the email for its targets in the commit that
 * processes it, so a message is forwarded once, whenever the process ends.
 *
 * The message keeps its bytes, and so its DKIM signatures; it gets an ARC set and Delivered-To on top, and loses our
 * Return-Path field. A failed delivery is reported to its sender only if SPF passed: a forged sender would get a bounce
 * of mail that it never sent. An address that gets nothing is recorded with the reason, and the message is filed
 * whatever the rule says.
 *
 * It is also filed if its sender cannot be told of a failure: a message that the target refuses would be lost
 * unnoticed.
 */

import type { Config } from '../../base/config/complete.js'
import { type Address, domainOf, toLowerCaseAddress } from '../../base/mail/address.js'
import { NO_NOTICE } from '../../base/mail/dsn-parameters.js'
import { findFields, type Header, readFieldValue, scanHeaderOrEmpty } from '../../base/mail/header-fields.js'
import { decodeHeaderText } from '../../base/mail/header-text.js'
import { createMessageId, isMessageId } from '../../base/mail/message-id.js'
import type { Clock } from '../../base/platform/clock.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Log } from '../../base/platform/log.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { Write } from '../../base/storage/db/write.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import type { NotForwardedReason } from '../../base/storage/tables/forward-tables.js'
import type { SpamStatus } from '../../base/storage/tables/inbound-tables.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import type { QueueRunner } from '../../outbound/delivery/queue-runner.js'
import { parseArrival } from '../../records/messages/inbound/inbound-email.js'
import { insertForward } from '../../records/messages/inbound/inbound-forwards.js'
import type { InboundEmail } from '../../records/messages/inbound/inbound-record.js'
import type { EnqueuedEmail } from '../../records/messages/queue/enqueue.js'
import { isSuppressed } from '../../records/suppressions/suppressions.js'
import type { SigningKeyCache } from '../../workspaces/domains/dkim/signing-keys.js'
import type { SigningThread } from '../../workspaces/domains/dkim/signing-thread.js'
import {
  type ActiveRule,
  type ForwardRuleCache,
  findRule,
} from '../../workspaces/domains/forwards/forward-rule-cache.js'
import { isConfirmed } from '../../workspaces/domains/forwards/forward-targets.js'
import type { Dispatcher } from '../../workspaces/webhooks/dispatcher.js'
import { deliverReceived } from '../../workspaces/webhooks/request-delivery.js'
import type { WebhookRef } from '../../workspaces/webhooks/webhook-records.js'
import { buildArcFields } from './arc-fields.js'
import { enqueuePassedOn } from './forwarded-email.js'
import { countOwnHops, judgeForwarding, readDeliveredTo } from './judge-forwarding.js'

interface ForwardingDeps {
  readonly read: Read
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'error'>
  readonly names: Pick<Config['service'], 'hostname' | 'mail_from'>
  readonly rules: Pick<ForwardRuleCache, 'find'>
  readonly signing: Pick<SigningThread, 'seal'>
  /** If the service has no key, nothing is sealed. */
  readonly signingKeys: Pick<SigningKeyCache, 'find'>
  readonly queue: Pick<QueueRunner, 'offer'>
  readonly webhooks: Pick<Dispatcher, 'refresh'>
}

/** The result of the rules that the domain has for a message. */
interface Forwarding {
  /** The writes go into the commit that processes the message, after its event; they read its stored bytes. */
  readonly writes: readonly Write[]
  /** False if the message is not filed. */
  readonly keep: boolean
  readonly onCommitted: () => void
}

/** An address of the envelope and the rule that matches it. */
interface Match {
  readonly address: Address
  readonly rule: ActiveRule
}

interface Message {
  readonly email: InboundEmail
  readonly raw: Buffer
  readonly header: Header
  readonly now: number
}

/** An address that one of the rules names. */
interface Target {
  readonly address: Address
  readonly rule: ActiveRule
  readonly reason: NotForwardedReason | null
}

const MAX_SUBJECT = 998
/** Octets of the copies of one message, each for the targets of one rule; the first may be of any size. */
const MAX_COPIED = 104_857_600
/** Octets of a field that are read. */
const MAX_VALUE = 16_384

export class ForwardingPlanner {
  constructor(private readonly deps: ForwardingDeps) {}

  /**
   * Null if no rule matches. A message that `mayBeFiled` forbids to file goes to addresses only. `raw` is not used after
   * it resolves.
   */
  async plan(
    email: InboundEmail,
    raw: Buffer,
    spamStatus: SpamStatus | null,
    mayBeFiled: boolean,
  ): Promise<Forwarding | null> {
    const { deps } = this
    const addresses = parseJson(email.envelope_to)
    const matches = await findMatches(deps.rules, email.workspace_id, addresses)
    if (matches.length === 0) return null
    const message = { email, raw, header: scanHeaderOrEmpty(raw), now: deps.clock() }
    const targets = await judgeTargets(deps, message, matches, spamStatus)
    const arcFields = targets.some(({ reason }) => reason === null) ? await sealMessage(deps, message) : ''
    const isComplete = matches.length === addresses.length && targets.every(({ reason }) => reason === null)
    const isKept =
      !isComplete || !canTellSender(email) || matches.some(({ rule }) => rule.keep || rule.webhookId !== null)
    const keep = mayBeFiled && isKept
    const firsts = matches.filter(({ rule }, place) => matches.findIndex((other) => other.rule === rule) === place)
    const queued: Queued[] = []
    for (const [place, match] of firsts.entries()) {
      if (place > 0) await waitForStep()
      queued.push(...queueFor(deps, message, match, targets, arcFields))
    }
    const hooks = mayBeFiled ? listWebhooks(email.workspace_id, matches) : []
    return {
      keep,
      // They come first: they name the newest event.
      writes: [
        ...hooks.map((hook) => deliverReceived({ ...hook, deliveryId: uuidv7(message.now), at: message.now })),
        ...queued.flatMap(({ enqueued }) => enqueued.writes),
        ...(keep ? recordTargets(message, targets, queued) : []),
      ],
      onCommitted: () => handOver(deps, message, targets, queued, hooks),
    }
  }
}

/** Each address that a rule matches. */
async function findMatches(
  rules: ForwardingDeps['rules'],
  workspaceId: string,
  addresses: readonly Address[],
): Promise<readonly Match[]> {
  const matches: Match[] = []
  for (const address of addresses) {
    const rule = await findRule(rules, workspaceId, address)
    if (rule !== undefined) matches.push({ address, rule })
  }
  return matches
}

/**
 * Judges each target once, for the first rule that names it. It works in steps: a message may match a hundred rules of
 * ten targets.
 */
async function judgeTargets(
  { read, names: { hostname } }: ForwardingDeps,
  { email, raw, header }: Message,
  matches: readonly Match[],
  spamStatus: SpamStatus | null,
): Promise<readonly Target[]> {
  const { dmarc } = parseJson(email.authentication)
  const trace = { deliveredTo: readDeliveredTo(raw, header), ownHops: countOwnHops(raw, header, hostname) }
  const targets = new Map<string, Target>()
  const copied = new Set<ActiveRule>()
  for (const [place, { address, rule }] of matches.entries()) {
    if (place > 0) await waitForStep()
    const fault = judgeForwarding({ spamStatus, dmarc, ...trace, address })
    for (const target of rule.targets) {
      const key = toLowerCaseAddress(target)
      if (targets.has(key)) continue
      const isTooMuch = !copied.has(rule) && copied.size > 0 && (copied.size + 1) * email.size > MAX_COPIED
      const reason = fault ?? (await findTargetFault(read, email.workspace_id, target)) ?? (isTooMuch ? 'size' : null)
      if (reason === null) copied.add(rule)
      targets.set(key, { address: target, rule, reason })
    }
  }
  return [...targets.values()]
}

async function findTargetFault(read: Read, workspaceId: string, target: Address): Promise<NotForwardedReason | null> {
  if (!(await isConfirmed(read, workspaceId, target))) return 'unconfirmed'
  return (await isSuppressed(read, workspaceId, target)) ? 'suppressed' : null
}

/** A fault of ours costs the seal, not the message. */
async function sealMessage(
  { signing, signingKeys, names, log }: ForwardingDeps,
  { email, raw, header, now }: Message,
): Promise<string> {
  try {
    const { arc } = parseJson(email.authentication)
    const key = await signingKeys.find(SERVICE_WORKSPACE, domainOf(names.mail_from))
    return await buildArcFields(signing, key, { raw, header, arc }, now)
  } catch (error) {
    log.error({ err: error, inbound: email.id }, 'a message is forwarded without an ARC seal')
    return ''
  }
}

interface Queued {
  readonly enqueued: EnqueuedEmail
  readonly ruleId: string
}

/** One email for the targets of each rule, named by the first of its addresses; none if all were left out. */
function queueFor(
  { names: { hostname } }: ForwardingDeps,
  { email, raw, header, now }: Message,
  { address, rule }: Match,
  targets: readonly Target[],
  arcFields: string,
): readonly Queued[] {
  const own = targets.filter((target) => target.rule === rule && target.reason === null)
  if (own.length === 0) return []
  const [top] = header.fields
  const readFirst = (name: string): string => {
    const [field] = findFields(header, name)
    return field === undefined ? '' : readFieldValue(raw, field, MAX_VALUE)
  }
  const messageId = readFirst('message-id')
  const notify = canTellSender(email) ? null : NO_NOTICE
  const enqueued = enqueuePassedOn({
    inbound: email,
    skipped: top?.name === 'return-path' ? top.end : 0,
    fields: `${arcFields}Delivered-To: ${address}\r\n`,
    messageId: isMessageId(messageId) ? messageId : createMessageId(email.id, hostname),
    subject: decodeHeaderText(readFirst('subject'), MAX_SUBJECT),
    envelopeFrom: email.envelope_from,
    by: address,
    to: own.map((target) => ({ address: target.address, suppressed: false, notify, orcpt: null })),
    smtputf8: /with UTF8SMTP/.test(readFirst('received')),
    requiresTls: parseArrival(email).requiresTls === true,
    now,
  })
  return [{ enqueued, ruleId: rule.id }]
}

/** The null sender has asked for no report; any other may be forged unless SPF passed. */
function canTellSender({ envelope_from: sender, spf_result: spf }: InboundEmail): boolean {
  return sender !== '' && spf === 'pass'
}

/** Lists each webhook once. */
function listWebhooks(workspaceId: string, matches: readonly Match[]): readonly WebhookRef[] {
  const ids = new Set(matches.flatMap(({ rule }) => rule.webhookId ?? []))
  return [...ids].map((id) => ({ workspaceId, id }))
}

function recordTargets(
  { email, now }: Message,
  targets: readonly Target[],
  queued: readonly Queued[],
): readonly Write[] {
  return targets.map(({ address, rule, reason }) =>
    insertForward({
      workspace_id: email.workspace_id,
      inbound_id: email.id,
      target: address,
      rule_id: rule.id,
      status: reason === null ? 'forwarded' : 'not-forwarded',
      reason,
      email_id: reason === null ? (queued.find(({ ruleId }) => ruleId === rule.id)?.enqueued.email.id ?? null) : null,
      created_at: now,
    }),
  )
}

function handOver(
  { queue, webhooks, log }: ForwardingDeps,
  { email }: Message,
  targets: readonly Target[],
  queued: readonly Queued[],
  hooks: readonly WebhookRef[],
): void {
  for (const { enqueued, ruleId } of queued) {
    queue.offer(enqueued)
    const recipients = enqueued.entries.length
    log.info({ inbound: email.id, rule: ruleId, email: enqueued.email.id, recipients }, 'a message is forwarded')
  }
  for (const { address: recipient, rule, reason } of targets) {
    if (reason !== null) log.info({ inbound: email.id, rule: rule.id, recipient, reason }, 'a message is not forwarded')
  }
  for (const hook of hooks) void webhooks.refresh(hook)
}
