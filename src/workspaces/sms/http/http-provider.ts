/**
 * Hands messages to an HTTP gateway of the operator's choice. Private addresses are allowed, because private
 * gateways are usual.
 *
 * The provider makes all requests for a message before its deadline. It does not follow redirects, so credentials
 * and codes go to the configured URL alone. The gateway reports through the receipt URL.
 *
 * It refuses a message that waits behind 100 others 3 s before its deadline. The answer would come too late, and the
 * phone would get a code that is not valid.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../../base/platform/clock.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { createHttpClient, type HttpClient } from '../../../base/platform/http/http-client.js'
import { HttpFault } from '../../../base/platform/http/http-fault.js'
import { parseRetryAfter } from '../../../base/platform/http/retry-after.js'
import type { RandomSource } from '../../../base/platform/random.js'
import { Semaphore } from '../../../base/platform/semaphore.js'
import { version } from '../../../base/platform/version.js'
import type { SendOutcome, SmsMessage, SmsProvider } from '../provider.js'
import { createTemplateStyle } from './body-template.js'
import { decideNextStep, type TryResult } from './decide-try.js'
import type { GatewayAnswer, GatewayRequest, HttpStyle } from './http-style.js'
import { toLogReason } from './log-reason.js'
import { createTwilioStyle } from './twilio.js'

interface HttpProviderSettings {
  readonly style: 'twilio' | 'template'
  readonly url: URL
  readonly username: string
  readonly password: string
  readonly body_template: string
}

interface HttpProviderDeps {
  /** Returns `sms.http` of the configuration. Each message reads it, as it reads the sender. */
  readonly settings: () => HttpProviderSettings
  /** Returns `sms.sender` of the configuration. */
  readonly sender: () => string
  readonly clock: Clock
  readonly random: RandomSource
  /** PEM certificates to trust instead of the system's. */
  readonly authorities: string | undefined
}

/** Requests at a time. */
const MAX_CONNECTIONS = 100
const MAX_WAITING = 10_000
/** Milliseconds before the deadline. Then no request waits for its turn. */
const ANSWER_TIME = 3_000
const MAX_ANSWER_BYTES = 16_384

export class HttpProvider implements SmsProvider {
  readonly name = 'http'
  /** The constructor makes it at once, because loading it blocks the thread for a while. */
  private readonly client: Promise<HttpClient>
  private readonly stopping = new AbortController()
  private readonly slots = new Semaphore(MAX_CONNECTIONS, MAX_WAITING)

  constructor(private readonly deps: HttpProviderDeps) {
    this.client = createHttpClient({
      maxConnections: MAX_CONNECTIONS,
      maxBodyBytes: MAX_ANSWER_BYTES,
      maxDroppedBytes: 0,
      authorities: deps.authorities,
    })
    // Each message reports the fault.
    this.client.catch(() => undefined)
  }

  async send(message: SmsMessage, deadline: number): Promise<SendOutcome> {
    const { clock, random } = this.deps
    const { client, slots, stopping } = this
    const [settings, sender] = [this.deps.settings(), this.deps.sender()]
    const style = (settings.style === 'twilio' ? createTwilioStyle : createTemplateStyle)({ ...settings, sender })
    const gateway = { settings, clock, random, client, style, slots, signal: stopping.signal }
    const outcome = await sendMessage(gateway, message, deadline)
    if (outcome.kind === 'accepted') return outcome
    return { ...outcome, reason: toLogReason(outcome.reason, message, credentialsOf(settings)) }
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    this.slots.close()
    await (await this.client.catch(() => null))?.close()
  }
}

/** The credentials, and those in the URL, in the forms in which a gateway may repeat them. */
function credentialsOf({ username, password, url }: HttpProviderSettings): readonly string[] {
  const inUrl = [url.username, url.password].flatMap((text) => [text, decodeURIComponent(text)])
  return [password, username, Buffer.from(`${username}:${password}`).toString('base64'), ...inUrl]
}

interface Gateway extends Pick<HttpProviderDeps, 'clock' | 'random'> {
  readonly settings: HttpProviderSettings
  readonly client: Promise<HttpClient>
  readonly style: HttpStyle
  readonly slots: Semaphore
  readonly signal: AbortSignal
}

/** Never rejects. */
async function sendMessage(gateway: Gateway, message: SmsMessage, deadline: number): Promise<SendOutcome> {
  try {
    const request = gateway.style.buildRequest(message, gateway.clock())
    return await runRequests(gateway, request, deadline)
  } catch (error) {
    const reason = gateway.signal.aborted ? 'the service is stopping' : errorMessageOf(error)
    return { kind: 'refused', reason: `no request can be made: ${reason}` }
  }
}

async function runRequests(gateway: Gateway, request: GatewayRequest, deadline: number): Promise<SendOutcome> {
  const { clock, random, style, slots, signal } = gateway
  const client = await gateway.client
  for (let tries = 1; ; tries += 1) {
    const isAdmitted = await slots.acquire(Math.max(0, deadline - ANSWER_TIME - clock()))
    signal.throwIfAborted()
    if (!isAdmitted) return { kind: 'refused', reason: 'too many messages wait for the gateway' }
    const { result, reason, answer } = await runRequest(gateway, client, request, deadline).finally(() =>
      slots.release(),
    )
    const step = decideNextStep(result, { tries, now: clock(), deadline, random: random() })
    if (step.kind === 'retry') await sleep(step.delay, undefined, { signal })
    else if (step.kind === 'answered' && answer !== null) return style.readAnswer(answer)
    else return { kind: step.kind === 'silent' ? 'silent' : 'refused', reason }
  }
}

interface RequestResult {
  readonly result: TryResult
  readonly reason: string
  /** Null means that there is none. */
  readonly answer: GatewayAnswer | null
}

async function runRequest(
  { settings: { url }, clock, style }: Gateway,
  client: HttpClient,
  { headers, body }: GatewayRequest,
  deadline: number,
): Promise<RequestResult> {
  const timeout = Math.max(1, deadline - clock())
  const fields = { ...headers, 'user-agent': `Posthorn/${version}` }
  try {
    const { status, isComplete, ...received } = await client.post({ url, headers: fields, body, timeout })
    const answer = { status, text: received.body.toString(), isComplete }
    const retryAfter = parseRetryAfter(received.headers['retry-after'], clock())
    return { result: { kind: 'answer', status, retryAfter }, reason: style.describeAnswer(answer), answer }
  } catch (error) {
    if (!(error instanceof HttpFault)) throw error
    return { result: { kind: 'fault', isSent: error.isSent }, reason: error.message, answer: null }
  }
}
