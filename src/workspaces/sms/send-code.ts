/**
 * Sends a verification code: it checks the limits, writes the record, asks the provider, and writes the outcome.
 *
 * The record and the charges of the limits are on disk before we ask the provider. The commit that follows the
 * provider's acceptance makes the code valid and ends an older one of the phone. A failed send changes neither.
 */
import type { KeyObject } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import { type JsonObject, toJson } from '../../base/storage/tables/columns.js'
import { generateCode, hashCode } from './code-hash.js'
import type { ConversionWatch } from './conversion-watch.js'
import { judgeNumber, type PhoneDestination } from './judge-number.js'
import { buildMessageText, checkTemplate } from './message-text.js'
import type { SendOutcome, SmsMessage, SmsProvider } from './provider.js'
import type { PlannedSend, SendCharger } from './send-limits.js'
import { settleSend } from './settle-send.js'
import { insertCode, type NewCode } from './sms-records.js'
import { type EncodedText, encodeText } from './text-encoding.js'

/**
 * Milliseconds from the request to the provider's answer. The answer comes in time even if a provider breaks its own
 * promise, so a client gets an answer within 15 s.
 */
const MAX_PROVIDER_TIME = 12_000

/** Milliseconds beyond the deadline that we wait for a provider. */
const DEADLINE_TOLERANCE = 1_000

interface CodeRequest {
  readonly workspaceId: string
  /** The phone as the client wrote it. */
  readonly phone: string
  /** Undefined means the default text. */
  readonly template: string | undefined
  /** The number of digits. */
  readonly codeLength: number
  readonly expiryMinutes: number
  readonly metadata: JsonObject | null
}

export interface SentCode {
  readonly id: string
  /** E.164. */
  readonly phone: string
  readonly expiresAt: number
}

export interface CodeSenderDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  /** The key that `deriveCodeKey` returns. */
  readonly codeKey: KeyObject
  /** Null means that no provider is configured. */
  readonly provider: SmsProvider | null
  /** ISO 3166-1 alpha-2 codes, in upper case. */
  readonly allowedCountries: () => readonly string[]
  readonly watch: Pick<ConversionWatch, 'findHold'>
  readonly charger: Pick<SendCharger, 'charge'>
  /** Returns the writes that count a sent code, for the commit of the provider's acceptance. */
  readonly countSent: (workspaceId: string, segments: number, now: number) => readonly Write[]
  readonly buildReceiptUrl: (smsId: string) => string
  /** We answer `refused`, and the provider answers `rejected`. */
  readonly onSend?: ((outcome: 'sent' | 'refused' | 'rejected' | 'unanswered') => void) | undefined
}

export class CodeSender {
  private readonly underWay = new Set<Promise<SentCode>>()

  constructor(private readonly deps: CodeSenderDeps) {}

  /** Rejects with a Refusal: `invalid-parameter`, `rate-limited`, `unavailable`, `no-answer`, `bad-credentials`. */
  async send(request: CodeRequest): Promise<SentCode> {
    const sending = this.sendTracked(request)
    this.underWay.add(sending)
    try {
      return await sending
    } finally {
      this.underWay.delete(sending)
    }
  }

  /** Resolves when no code is being sent, or after `maxWait` milliseconds. */
  async waitUntilIdle(maxWait: number): Promise<void> {
    const timer = new AbortController()
    const timeUp = sleep(maxWait, undefined, { signal: timer.signal }).catch(() => undefined)
    await Promise.race([Promise.allSettled(this.underWay), timeUp])
    timer.abort()
  }

  private async sendTracked(request: CodeRequest): Promise<SentCode> {
    const { deps } = this
    const { clock, provider } = deps
    if (provider === null) throw new Refusal('unavailable', 'no SMS provider is configured')
    const startedAt = clock()
    const { code, text } = await logRefusals(deps, request, () => admitCode(deps, provider, request, startedAt))
    const { id, phone, expires_at: expiresAt } = code
    const message = { id, phone, text, expiresAt, receiptUrl: deps.buildReceiptUrl(id) }
    const outcome = await askProvider(provider, message, { clock, deadline: startedAt + MAX_PROVIDER_TIME })
    deps.onSend?.(sendOutcomes[outcome.kind])
    await settleSend(deps, code, outcome)
    return { id, phone, expiresAt }
  }
}

const sendOutcomes = { accepted: 'sent', refused: 'rejected', silent: 'unanswered' } as const

/** The record of the code, and the message that contains it. Only the memory holds the message. */
interface AdmittedCode {
  readonly code: NewCode
  readonly text: EncodedText
}

async function admitCode(
  deps: CodeSenderDeps,
  provider: SmsProvider,
  request: CodeRequest,
  now: number,
): Promise<AdmittedCode> {
  const destination = judgeNumber(request.phone, deps.allowedCountries())
  if (request.template !== undefined) checkTemplate(request.template)
  const { phone, range, prefix } = destination
  const send: PlannedSend = { workspaceId: request.workspaceId, phone, range, prefix, now }
  const hold = await deps.watch.findHold(send)
  if (hold !== null) throw hold
  const admitted = createCode(deps.codeKey, request, destination, { provider: provider.name, now })
  await commitAdmission(deps, send, admitted.code)
  return admitted
}

function createCode(
  codeKey: KeyObject,
  { workspaceId, template, codeLength, expiryMinutes: minutes, metadata }: CodeRequest,
  { phone, prefix, country }: PhoneDestination,
  { provider, now }: { readonly provider: string; readonly now: number },
): AdmittedCode {
  const id = uuidv7(now)
  const digits = generateCode(codeLength)
  const text = encodeText(buildMessageText(template, { code: digits, minutes }))
  const code: NewCode = {
    id,
    workspace_id: workspaceId,
    phone,
    prefix,
    country,
    ...hashCode(codeKey, id, digits),
    metadata: metadata === null ? null : toJson(metadata),
    encoding: text.encoding,
    segments: text.segments.length,
    provider,
    created_at: now,
    expires_at: now + minutes * 60_000,
  }
  return { code, text }
}

/** A limit may be reached when the commit misses and have room again when we read it. Then we try the commit again. */
const MAX_ADMISSIONS = 3

async function commitAdmission(deps: CodeSenderDeps, send: PlannedSend, code: NewCode): Promise<void> {
  for (let admission = 0; admission < MAX_ADMISSIONS; admission++) {
    const charge = await deps.charger.charge(send)
    if (await tryCommit(deps.commit([...charge.writes, insertCode(code)]))) return
    const refusal = await charge.findRefusal()
    if (refusal !== null) throw refusal
  }
  throw new Refusal('bad-credentials', 'the workspace of this key is deleted')
}

async function logRefusals<T>(deps: CodeSenderDeps, request: CodeRequest, admit: () => Promise<T>): Promise<T> {
  try {
    return await admit()
  } catch (error) {
    if (error instanceof Refusal) {
      deps.onSend?.('refused')
      const { workspaceId, phone } = request
      const reason = error.details['reason'] ?? error.kind
      deps.log.info({ workspace_id: workspaceId, phone: formatForDisplay(phone), reason }, 'code refused')
    }
    throw error
  }
}

interface Patience {
  readonly clock: Clock
  readonly deadline: number
}

/** Never rejects. */
async function askProvider(
  provider: SmsProvider,
  message: SmsMessage,
  { clock, deadline }: Patience,
): Promise<SendOutcome> {
  const timeLeft = deadline - clock()
  if (timeLeft <= 0) return { kind: 'refused', reason: 'no time was left to ask the provider' }
  const abortController = new AbortController()
  const { signal } = abortController
  // We wait at most this long, even if the clock was set back.
  const patience = Math.min(timeLeft, MAX_PROVIDER_TIME) + DEADLINE_TOLERANCE
  const lateness: SendOutcome = { kind: 'silent', reason: 'the provider has not kept its deadline' }
  const late = sleep(patience, lateness, { signal })
  late.catch(() => undefined)
  try {
    return await Promise.race([provider.send(message, deadline), late])
  } catch (error) {
    // The message of the error may contain the text that was sent.
    return { kind: 'silent', reason: `the provider failed: ${error instanceof Error ? error.name : 'unknown'}` }
  } finally {
    abortController.abort()
  }
}
