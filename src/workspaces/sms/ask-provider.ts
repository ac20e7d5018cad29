/** Asks the provider to send a message. The answer comes in time, even if a provider breaks its own promise. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../base/platform/clock.js'
import type { SendOutcome, SmsMessage, SmsProvider } from './provider.js'

/** Milliseconds from the request to the provider's answer: a client is answered within 15 s. */
export const MAX_PROVIDER_TIME = 12_000
/** Milliseconds beyond the deadline that a provider is waited for. */
const DEADLINE_TOLERANCE = 1_000

interface Patience {
  readonly clock: Clock
  readonly deadline: number
}

/** Never rejects. */
export async function askProvider(
  provider: SmsProvider,
  message: SmsMessage,
  { clock, deadline }: Patience,
): Promise<SendOutcome> {
  const timeLeft = deadline - clock()
  if (timeLeft <= 0) return { kind: 'refused', reason: 'no time was left to ask the provider' }
  const abortController = new AbortController()
  const { signal } = abortController
  // At most so long, even if the clock was set back.
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
